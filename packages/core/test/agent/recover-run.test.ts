import { describe, expect, it } from 'vitest';
import { extendHistory, recoverRun, resumeRun, runAgent } from '#core/agent/index.js';
import { memoryStore, ToolscriptUsageError } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import type { EventPayload, HarnessStore, ModelProvider, OutputItem, StreamEvent } from '#core/protocol/index.js';
import { open, type Effects } from '../suspension/world.js';

/** Answers with the parts first, and with `Done.` once there are results. */
function provider(parts: readonly EventPayload[][], asked: OutputItem[][] = []): ModelProvider {
  return {
    api: 'mine',
    model: 'm',
    capabilities: { stopSequences: false, customTools: false },
    async *stream({ conversation }, options): AsyncGenerator<EventPayload> {
      asked.push([...conversation]);
      const hasResults = conversation.some(({ type }) => type.endsWith('_output'));
      yield { type: 'response_start' };
      for (const payloads of hasResults ? [message('item_done', 'Done.')] : parts)
        for (const payload of payloads) yield withAnswer(payload, options?.answerId);
      yield { type: 'response_done', status: 'completed' };
    },
  };
}

function withAnswer(payload: EventPayload, answerId: string | undefined): EventPayload {
  if (payload.type === 'item_start') return { ...payload, initial: { ...payload.initial, answer_id: answerId } };
  if (payload.type !== 'item_done') return payload;
  return { ...payload, final_item: { ...payload.final_item, answer_id: answerId } };
}

function message(id: string, content: string): EventPayload[] {
  return [
    { type: 'item_start', item_id: id, item_type: 'message' },
    ...[...content].map((delta) => ({ type: 'item_delta' as const, item_id: id, delta })),
    { type: 'item_done', item_id: id, final_item: { type: 'message', id, role: 'assistant', content } },
  ];
}

function call(id: string, name: string, input: object): EventPayload[] {
  const item = { type: 'function_call', id, call_id: `call_${id}`, name, arguments: JSON.stringify(input) } as const;
  return [
    { type: 'item_start', item_id: id, item_type: 'function_call', initial: { name, call_id: item.call_id } },
    { type: 'item_done', item_id: id, final_item: item },
  ];
}

const script = (id: string, code: string) => call(id, 'run_script', { code });
const agent = { slug: 'tester', carrier: 'tool', functions: 'all' } as const;

interface Cut {
  events: StreamEvent[];
  store: () => Promise<HarnessStore>;
  effects: string[];
}

type Write = (store: HarnessStore) => unknown;

/** A store that can be made again as it stood after each of its writes. */
function recording(store: HarnessStore): { store: HarnessStore; writes: Write[] } {
  const writes: Write[] = [];
  const port = <Name extends keyof HarnessStore>(name: Name): HarnessStore[Name] =>
    new Proxy(store[name], {
      get: (target, method) => {
        const member = Reflect.get(target, method) as unknown;
        if (typeof member !== 'function') return member;
        return (...values: unknown[]): unknown => {
          writes.push((other) =>
            (other[name] as never as Record<string | symbol, (...all: unknown[]) => unknown>)[method]!(...values),
          );
          return (member as (...all: unknown[]) => unknown).apply(target, values);
        };
      },
    });
  return { store: { claim: port('claim'), journal: port('journal'), images: port('images') }, writes };
}

async function replayed(writes: readonly Write[]): Promise<HarnessStore> {
  const store = memoryStore();
  for (const write of writes) await Promise.resolve(write(store)).catch(() => {});
  return store;
}

/** The run as it stood in its stores at each of its events. */
async function cuts(parts: readonly EventPayload[][], more: object = {}): Promise<Cut[]> {
  const effects: Effects = [];
  const { store, writes } = recording(memoryStore());
  const harness = open({ effects, store });
  const seen: StreamEvent[] = [];
  const found: Cut[] = [];
  for await (const event of runAgent({ provider: provider(parts), harness, agent, input: 'Go.', ...more })) {
    seen.push(event);
    const written = [...writes];
    found.push({ events: [...seen], store: () => replayed(written), effects: [...effects] });
  }
  return found;
}

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const TWO_MARKS =
  "await tools.mark({ text: 'a' }); await tools.read({}); await tools.mark({ text: 'b' }); return 'both';";

describe('a run whose process ended', () => {
  const parts = [
    message('item_1', 'I look.'),
    script('item_2', TWO_MARKS),
    call('item_3', 'mark', { text: 'c' }),
    call('item_4', 'read', { size: 2 }),
  ];

  const inText = {
    agent: { slug: 'tester', carrier: 'text', afterScript: 'continue' } as const,
    scriptSourceDeltas: true,
  };
  const block = `<tool-calls>\n${TWO_MARKS}\n</tool-calls>`;

  it.each([
    ['by calls', parts, { agent }],
    ['in text', [message('item_1', `I look.\n${block}\nThat is it.`)], inText],
  ])(
    '%s continues from each of its events: nothing is done twice, every call has a result, and the model ends it',
    async (_, parts, more) => {
      const all = await cuts(parts, more);
      expect(all.length).toBeGreaterThan(20);
      for (const { events, store, effects: before } of all.slice(0, -1)) {
        const effects: Effects = [];
        const asked: OutputItem[][] = [];
        const harness = open({ effects, store: await store() });
        const rest = await collect(
          recoverRun({ provider: provider(parts, asked), harness, events, history: [], force: true, ...more }),
        );
        const where = `${events.length}: ${events.at(-1)!.payload.type}`;
        expect(rest.at(-1)!.payload, where).toMatchObject({ type: 'response_done', status: 'completed' });
        const whole = [...events, ...rest];
        expect(
          whole.map(({ seq }) => seq),
          where,
        ).toEqual(whole.map((_, index) => index));
        expect(new Set(whole.map(({ run_id: id }) => id)).size, where).toBe(1);
        const done = [...before, ...effects];
        expect(done.length, `${where} ${done.join()}`).toBe(new Set(done).size);
        const items = extendHistory([], whole);
        for (const conversation of more === inText ? [] : asked)
          expect(conversation.at(-1), where).not.toMatchObject({ role: 'assistant' });
        expect(
          items.map((item) => item.call_id),
          where,
        ).not.toContain('');
        const outputs = items.filter(({ type }) => type.endsWith('_output')).map(({ call_id: id }) => id);
        expect(new Set(outputs).size, where).toBe(outputs.length);
        for (const item of items)
          if ((item.type === 'script_execution' || item.type === 'function_call') && item.cancelled !== true)
            expect(outputs, where).toContain(item.call_id);
        expect(JSON.stringify(items.at(-1)), where).toContain('Done.');
        expect(foldResponse(whole).status, where).toBe('completed');
      }
    },
    120_000,
  );

  it('keeps the interrupted text for people, and asks the model for the answer anew', async () => {
    const all = await cuts([message('item_1', 'I look.'), script('item_2', "return 'x';")]);
    const { events, store } = all.find(({ events: seen }) => seen.at(-1)!.payload.type === 'item_delta')!;
    const asked: OutputItem[][] = [];
    const again = provider([script('item_9', "return 'y';")], asked);
    await collect(recoverRun({ provider: again, harness: open({ store: await store() }), agent, events, force: true }));
    expect(asked[0]!.map((item) => (item.type === 'message' ? item.content : item.type))).toEqual(['Go.']);
    expect(extendHistory([], events).map((item) => (item.type === 'message' ? item.content : item.type))).toEqual([
      'Go.',
      'I',
    ]);
  });

  it('says that a call is unknown whose end nobody wrote down', async () => {
    const all = await cuts(parts);
    const { events } = all.find(({ events: seen }) => seen.at(-1)!.payload.type === 'tool_call_start')!;
    const effects: Effects = [];
    const rest = await collect(
      recoverRun({ provider: provider(parts), harness: open({ effects }), agent, events, force: true }),
    );
    expect(effects.filter((effect) => effect === 'mark: a')).toEqual([]);
    expect(JSON.stringify(rest)).toContain('the process ended while this script ran');
  });
});

describe('resumeRun', () => {
  it('resumes a suspended run from its events', async () => {
    const effects: Effects = [];
    const harness = open({ effects, store: memoryStore() });
    const model = provider([script('item_1', "return (await tools.note({ text: 'x' })).noted;")]);
    const events = await collect(runAgent({ provider: model, harness, agent, input: 'Go.' }));
    const asked = events.flatMap(({ payload }) =>
      payload.type === 'approval_requested' ? [payload.approval.approval_id] : [],
    );
    const rest = await collect(
      resumeRun({ provider: model, harness, agent, events, decisions: { [asked[0]!]: 'approve' } }),
    );
    expect(rest[0]!.seq).toBe(events.length);
    expect(foldResponse([...events, ...rest]).status).toBe('completed');
    expect(effects).toEqual(['script: x']);
  });

  it('and recoverRun refuse the events of another kind of run', async () => {
    const harness = open();
    const events = await collect(
      runAgent({ provider: provider([message('item_1', 'Hi')]), harness, agent, input: 'Go.' }),
    );
    expect(() => resumeRun({ provider: provider([]), harness, agent, events })).toThrow(ToolscriptUsageError);
    expect(() => recoverRun({ provider: provider([]), harness, agent, events })).toThrow(ToolscriptUsageError);
    expect(() => recoverRun({ provider: provider([]), harness, agent, events: [] })).toThrow(ToolscriptUsageError);
  });
});
