import fc from 'fast-check';
import type { EventPayload, Run, StreamEvent } from '@toolscript/core/protocol';
import { expect, test } from 'vitest';
import { runTranslator } from '#server/responses/response-resource.js';
import { tries } from '@toolscript/testkit/some-cases';
import { EventSchema, ResponseSchema } from './support/specification.js';

/*
 * For any events of a run, its translation has the specified shape, is complete, and is always the same. Runs consist
 * of items that start, grow and end in any order, of suspensions, and of any end.
 */

const RUN = {
  runId: 'run_1',
  threadId: 'thr_1',
  createdAt: 1_700_000_000_123,
  state: 'completed',
  options: { agentId: 'helper', settings: { clientFunctions: [{ name: 'mine' }] } },
} as unknown as Run;

const text = fc.string({ maxLength: 8 });

interface PlannedItem {
  readonly kind: 'message' | 'reasoning' | 'mine' | 'theirs' | 'script';
  readonly deltas: readonly string[];
  /** The item's final content, if it differs from its deltas. */
  readonly corrected: string | undefined;
  readonly end: 'done' | 'cancelled' | 'error';
}

const plannedItem: fc.Arbitrary<PlannedItem> = fc.record({
  kind: fc.constantFrom('message', 'reasoning', 'mine', 'theirs', 'script'),
  deltas: fc.array(text, { maxLength: 4 }),
  corrected: fc.option(text, { nil: undefined, freq: 4 }),
  end: fc.constantFrom('done', 'done', 'done', 'cancelled', 'error'),
});

function payloadsOf({ kind, deltas, corrected, end }: PlannedItem, id: string): EventPayload[] {
  const isCall = kind === 'mine' || kind === 'theirs';
  const call = { call_id: `call_${id}`, name: kind === 'mine' ? 'mine' : 'run_script' };
  const type = kind === 'script' ? 'script_execution' : isCall ? 'function_call' : kind;
  const initial = kind === 'message' ? { role: 'assistant' } : isCall ? call : {};
  const whole = corrected ?? deltas.join('');
  const final = {
    message: { type, id, role: 'assistant', content: whole },
    reasoning: { type, id, content: whole },
    function_call: { type, id, ...call, arguments: whole },
    script_execution: {
      type,
      id,
      call_id: `call_${id}`,
      language: 'ts',
      format: 'tool',
      source_code: whole,
      source_sha256: '',
      status: 'executing',
    },
  }[type];
  const ends: Record<PlannedItem['end'], EventPayload> = {
    done: { type: 'item_done', item_id: id, final_item: final as never },
    cancelled: { type: 'item_cancelled', item_id: id },
    error: { type: 'item_error', item_id: id, code: 'X', message: 'x' },
  };
  return [
    { type: 'item_start', item_id: id, item_type: type, initial },
    ...deltas.map((delta): EventPayload => ({ type: 'item_delta', item_id: id, delta })),
    ends[end],
  ];
}

/** The payloads of several items, each in its own order, and all in the order of `turns`. */
function interleaved(lists: readonly EventPayload[][], turns: readonly number[]): EventPayload[] {
  const rest = lists.map((list) => [...list]);
  const merged: EventPayload[] = [];
  for (let turn = 0; rest.some((list) => list.length > 0); turn += 1) {
    const open = rest.filter((list) => list.length > 0);
    merged.push(open[(turns[turn % turns.length] ?? 0) % open.length]!.shift()!);
  }
  return merged;
}

const END: fc.Arbitrary<EventPayload> = fc
  .constantFrom('completed', 'incomplete', 'failed', 'cancelled')
  .map((status) => ({
    type: 'response_done',
    status,
    usage: { input_tokens: 1, output_tokens: 2 },
    ...(status === 'incomplete' ? { incomplete_reason: 'max_turns' } : {}),
  }));

const SUSPENSION: EventPayload[] = [
  { type: 'response_done', status: 'suspended', script_id: 'scr_1', approval_ids: ['apr_1', 'apr_2'] },
  { type: 'response_start' },
];

const anyRun = fc
  .record({
    before: fc.array(plannedItem, { maxLength: 4 }),
    after: fc.option(fc.array(plannedItem, { maxLength: 3 }), { nil: undefined }),
    turns: fc.array(fc.nat(5), { minLength: 1, maxLength: 12 }),
    end: END,
  })
  .map(({ before, after, turns, end }) => {
    const part = (items: readonly PlannedItem[], name: string) =>
      interleaved(
        items.map((item, index) => payloadsOf(item, `item_${name}${index}`)),
        turns,
      );
    const resumed = after === undefined ? [] : [...SUSPENSION, ...part(after, 'b')];
    const payloads: EventPayload[] = [{ type: 'response_start', input: [] }, ...part(before, 'a'), ...resumed, end];
    return payloads.map((payload, seq) => ({ seq, timestamp: 1_700_000_001_000 + seq, payload }) as StreamEvent);
  });

/** The translation as a permanently connected client reads it: a suspension that is resumed does not appear. */
function translated(events: readonly StreamEvent[]) {
  const translator = runTranslator(RUN, ['toolscript:script_execution']);
  const sent = [...translator.read()];
  for (const event of events) {
    translator.take(event);
    const read = translator.read();
    const isSuspension = event.payload.type === 'response_done' && event.payload.status === 'suspended';
    if (!isSuspension) sent.push(...read);
    else expect(read).toHaveLength(1);
  }
  return { sent, response: translator.response };
}

test('every event has the specified shape, and is emitted once, in order', () => {
  fc.assert(
    fc.property(anyRun, (events) => {
      const { sent } = translated(events);
      for (const event of sent) EventSchema.parse(event);
      const numbers = sent.map(({ sequence_number: number }) => number);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((left, right) => left - right));
      expect(sent[0]!.type).toBe('response.created');
      expect(sent.at(-1)!.type).toMatch(/^response\.(completed|incomplete|failed)$/u);
    }),
    { numRuns: tries(400) },
  );
});

test('the items of the events equal those of the last response, and each is announced before it grows and ends', () => {
  fc.assert(
    fc.property(anyRun, (events) => {
      const { sent, response } = translated(events);
      const built: { readonly id: string; text: string; item?: unknown }[] = [];
      for (const event of sent) {
        const {
          type,
          item,
          item_id: id,
          output_index: index,
          delta,
        } = event as unknown as {
          type: string;
          item: { id: string };
          item_id: string;
          output_index: number;
          delta: string;
        };
        if (type === 'response.output_item.added') {
          expect(index).toBe(built.length);
          built.push({ id: item.id, text: '' });
        } else if (item !== undefined) {
          expect(built[index]).toMatchObject({ id: item.id });
          expect(built[index]!.item).toBeUndefined();
          built[index]!.item = item;
        } else if (id !== undefined) {
          expect(built[index]).toMatchObject({ id });
          expect(built[index]!.item).toBeUndefined();
          built[index]!.text += delta ?? '';
        }
      }
      ResponseSchema.parse(response);
      expect(built.map(({ item }) => item)).toEqual(response.output);
      expect((sent.at(-1) as unknown as { response: object }).response).toEqual(response);
    }),
    { numRuns: tries(400) },
  );
});

test('the same events give the same translation, and no call of the server is shown as one of the client', () => {
  fc.assert(
    fc.property(anyRun, (events) => {
      const first = translated(events);
      expect(translated(events)).toEqual(first);
      for (const item of first.response.output)
        if (item.type === 'function_call') expect((item as { name: string }).name).toBe('mine');
    }),
    { numRuns: tries(200) },
  );
});

test('only finished items of the client are shown with all of their text', () => {
  fc.assert(
    fc.property(anyRun, (events) => {
      const said = events.flatMap(({ payload }) => {
        const item = payload.type === 'item_done' ? payload.final_item : undefined;
        if (item?.type === 'function_call') return item.name === 'mine' ? [item.arguments] : [];
        return item?.type === 'message' || item?.type === 'reasoning' ? [item.content] : [];
      });
      const shown = translated(events).response.output.flatMap((item) => {
        if (item.status === 'incomplete') return [];
        if (item.type === 'function_call') return [item.arguments];
        if (item.type === 'message') return item.content.map((part) => part.text);
        return item.type === 'reasoning' ? item.summary.map((part) => part.text) : [];
      });
      const written = (texts: readonly string[]) => texts.filter((text) => text !== '').toSorted();
      expect(written(shown)).toEqual(written(said));
    }),
    { numRuns: tries(400) },
  );
});
