import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldResponse, foldResponseAsync, ResponseReducer } from '#core/history/index.js';
import {
  ResponseSchema,
  StreamEventSchema,
  type EventPayload,
  type OutputItem,
  type Response,
  type StreamEvent,
} from '#core/protocol/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import {
  hostilePayload,
  itemPayloads,
  protocolRun,
  scriptItem,
  scriptOutputItem,
  shuffledWithDuplicates,
  toEvents,
} from './arbitrary-runs.js';

const message = (id: string, content: string): OutputItem => ({ type: 'message', id, role: 'assistant', content });

const start = (id: string, type: OutputItem['type'], initial?: Record<string, unknown>): EventPayload => ({
  type: 'item_start',
  item_id: id,
  item_type: type,
  ...(initial && { initial }),
});

const delta = (id: string, text: string): EventPayload => ({ type: 'item_delta', item_id: id, delta: text });

const fold = (...payloads: EventPayload[]): Response => foldResponse(toEvents(payloads));

describe('a run that follows the protocol', () => {
  test('is accepted by the event schema, so that the laws below speak of real streams', () => {
    fc.assert(
      fc.property(protocolRun, ({ events }) => events.every((event) => StreamEventSchema.safeParse(event).success)),
    );
  });

  test('folds to its final items in order of their start, scripts with the status of their outputs', () => {
    fc.assert(
      fc.property(protocolRun, ({ events, items }) => {
        const response = foldResponse(events);
        expect(response.output_items).toEqual(items);
        expect(response.usage).toEqual({ input_tokens: 1, output_tokens: 2 });
        expect(ResponseSchema.parse(response)).toEqual(response);
      }),
      { numRuns: tries(500) },
    );
  });

  test.each([
    ['message', 'content'],
    ['reasoning', 'content'],
    ['function_call', 'arguments'],
    ['script_execution', 'source_code'],
    ['hosted_code', 'source_code'],
  ] as const)('shows the text of an open %s as it arrives', (type, member) => {
    const [item] = fold(start('item_1', type), delta('item_1', 'one '), delta('item_1', 'two')).output_items;
    expect(item).toMatchObject({ type, [member]: 'one two' });
  });

  test('folds to the same Response in any order and with any duplicates', () => {
    const streams = protocolRun.chain(({ events }) => fc.tuple(fc.constant(events), shuffledWithDuplicates(events)));
    fc.assert(
      fc.property(streams, ([events, stream]) => {
        const reducer = new ResponseReducer();
        for (const event of stream) reducer.apply(event);
        expect(reducer.missing()).toEqual([]);
        expect(reducer.response()).toEqual(foldResponse(events));
        expect(foldResponse(stream)).toEqual(foldResponse(events));
      }),
      { numRuns: tries(1000) },
    );
  });

  test('only grows while it streams: items keep their order, texts are prefixes, finished items stay', () => {
    fc.assert(
      fc.property(protocolRun, ({ events, items }) => {
        const reducer = new ResponseReducer();
        const order = items.map(({ id }) => id);
        for (const event of events) {
          reducer.apply(event);
          const seen = ResponseSchema.parse(reducer.response()).output_items;
          expect(seen.map(({ id }) => id)).toEqual(order.slice(0, seen.length));
          for (const [index, item] of seen.entries()) {
            const final = items[index]!;
            if (item.type === 'message' && final.type === 'message')
              expect(final.content.startsWith(item.content)).toBe(true);
            if (index < seen.length - 2) expect(item).toEqual(final);
          }
        }
        expect(reducer.live()).toEqual({ toolCalls: [], pendingApprovals: [] });
      }),
      { numRuns: tries(200) },
    );
  });

  test('shows exactly the events before an open gap', () => {
    const cut = protocolRun.chain(({ events }) => fc.tuple(fc.constant(events), fc.nat(events.length - 1)));
    fc.assert(
      fc.property(cut, ([events, gap]) => {
        const reducer = new ResponseReducer();
        for (const event of events) if (event.seq !== gap) reducer.apply(event);
        expect(reducer.missing()).toEqual(gap < events.length - 1 ? [gap] : []);
        if (gap > 0) expect(reducer.response()).toEqual(foldResponse(events.slice(0, gap)));
        reducer.apply(events[gap]!);
        expect(reducer.response()).toEqual(foldResponse(events));
      }),
      { numRuns: tries(300) },
    );
  });

  test('shows after a gap at any time the same as a fold of the other events', () => {
    const cut = protocolRun.chain(({ events }) => fc.tuple(fc.constant(events), fc.nat(events.length - 1)));
    fc.assert(
      fc.property(cut, ([events, gap]) => {
        const reducer = new ResponseReducer();
        const others = events.filter(({ seq }) => seq !== gap);
        for (const [index, event] of others.entries()) {
          reducer.apply(event);
          const shown = reducer.response({ includePending: true });
          expect(shown).toEqual(foldResponse(others.slice(0, index + 1)));
          expect(reducer.live({ includePending: true })).toEqual(liveAfter(others.slice(0, index + 1)));
        }
      }),
      { numRuns: tries(200) },
    );
  });

  test('folds from an asynchronous stream as from a list', async () => {
    await fc.assert(
      fc.asyncProperty(protocolRun, async ({ events }) => {
        async function* stream(): AsyncGenerator<StreamEvent> {
          yield* events;
        }
        expect(await foldResponseAsync(stream())).toEqual(foldResponse(events));
      }),
      { numRuns: 20 },
    );
  });
});

describe('a hostile stream', () => {
  const hostileEvents = fc.array(hostilePayload, { minLength: 1, maxLength: 40 }).map((payloads) => toEvents(payloads));

  test('is accepted by the event schema', () => {
    fc.assert(
      fc.property(hostileEvents, (events) => {
        for (const event of events) expect(StreamEventSchema.safeParse(event).error).toBeUndefined();
      }),
    );
  });

  test('never throws, keeps its events, pollutes nothing, and folds to a valid Response after every event', () => {
    const prototypeMembers = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(hostileEvents, (events) => {
        const before = structuredClone(events);
        const reducer = new ResponseReducer();
        for (const event of events) {
          reducer.apply(event);
          const parsed = ResponseSchema.safeParse(reducer.response());
          expect(parsed.error).toBeUndefined();
          expect(
            reducer.response().output_items.every((item) => Object.getPrototypeOf(item) === Object.prototype),
          ).toBe(true);
        }
        expect(events).toEqual(before);
        expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(prototypeMembers);
      }),
      { numRuns: tries(2000) },
    );
  });

  test('folds to the same Response in any order, with duplicates, and with events lost for good', () => {
    const streams = hostileEvents.chain((events) =>
      fc
        .subarray(events, { minLength: 1 })
        .chain((kept) =>
          fc.tuple(fc.constant(kept), shuffledWithDuplicates(kept), fc.array(fc.boolean(), { maxLength: 60 })),
        ),
    );
    fc.assert(
      fc.property(streams, ([kept, stream, looks]) => {
        const reducer = new ResponseReducer();
        for (const [index, event] of stream.entries()) {
          reducer.apply(event);
          // Reading a response must not change later responses.
          if (looks[index]) reducer.response({ includePending: index % 2 === 0 });
        }
        expect(reducer.response({ includePending: true })).toEqual(foldResponse(kept));
        expect(reducer.live({ includePending: true })).toEqual(liveAfter(kept));
      }),
      { numRuns: tries(2000) },
    );
  });

  test('does not change a response that was returned', () => {
    fc.assert(
      fc.property(hostileEvents, (events) => {
        const reducer = new ResponseReducer();
        const responses = events.map((event) => {
          reducer.apply(event);
          return { response: reducer.response(), text: JSON.stringify(reducer.response()) };
        });
        for (const { response, text } of responses) expect(JSON.stringify(response)).toBe(text);
      }),
      { numRuns: tries(300) },
    );
  });

  test('keeps a __proto__ member of a change as data', () => {
    const changes = JSON.parse('{"__proto__":{"polluted":true},"content":"new"}') as Record<string, unknown>;
    const response = fold(...itemPayloads(message('m', 'old')), { type: 'item_update', item_id: 'm', changes });
    const item = response.output_items[0]!;
    expect(Object.getPrototypeOf(item)).toBe(Object.prototype);
    expect(Object.hasOwn(item, '__proto__')).toBe(true);
    expect(item).toMatchObject({ content: 'new' });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('bounds the list of missing numbers for a very large seq', () => {
    const [first] = toEvents([{ type: 'response_start' }]);
    const reducer = new ResponseReducer();
    reducer.apply({ ...first!, seq: Number.MAX_SAFE_INTEGER });
    reducer.apply({ ...first!, seq: 1 });
    expect(reducer.missing()).toHaveLength(1000);
    expect(reducer.missing().slice(0, 3)).toEqual([0, 2, 3]);
  });
});

describe('the reducer', () => {
  test('returns an empty response in progress without events', () => {
    expect(foldResponse([])).toEqual({
      run_id: '',
      thread_id: '',
      turn_id: '',
      status: 'in_progress',
      output_items: [],
    });
  });

  test('names the run while the first event is still missing', () => {
    const reducer = new ResponseReducer();
    reducer.apply(toEvents([{ type: 'response_start' }, start('m', 'message')])[1]!);
    expect(reducer.response()).toEqual({
      run_id: 'run_1',
      thread_id: 'thread_1',
      turn_id: 'turn_1',
      status: 'in_progress',
      output_items: [],
    });
    expect(reducer.response({ includePending: true }).output_items).toEqual([message('m', '')]);
  });

  test('ignores the events of other runs', () => {
    const mine = toEvents([{ type: 'response_start' }, ...itemPayloads(message('m', 'mine'))]);
    const theirs = toEvents([{ type: 'response_start' }, ...itemPayloads(message('m', 'theirs'))], 'run_2');
    const mixed = mine.flatMap((event, index) => [event, theirs[index]!]);
    expect(foldResponse(mixed)).toEqual(foldResponse(mine));
    expect(foldResponse(mixed, { runId: 'run_2' })).toEqual(foldResponse(theirs));
  });

  test('counts the first of two events with one seq, applied or waiting', () => {
    const events = toEvents([start('m', 'message'), delta('m', 'first'), delta('m', '!')]);
    const other = { ...events[1]!, payload: delta('m', 'second') };
    expect(foldResponse([...events, other])).toEqual(foldResponse(events));
    expect(foldResponse([events[2]!, events[1]!, other, events[0]!])).toEqual(foldResponse(events));
  });

  test('ignores payloads that it does not know', () => {
    const unknown = { type: 'from_the_future', item_id: 'm' } as unknown as EventPayload;
    expect(fold(start('m', 'message'), unknown, delta('m', 'a')).output_items).toEqual([message('m', 'a')]);
  });

  test('gives the same object until something changes', () => {
    const reducer = new ResponseReducer();
    const events = toEvents([start('m', 'message'), delta('m', 'a')]);
    reducer.apply(events[0]!);
    const before = reducer.response();
    expect(reducer.response()).toBe(before);
    reducer.apply(events[0]!);
    expect(reducer.response()).toBe(before);
    reducer.apply(events[1]!);
    expect(reducer.response()).not.toBe(before);
    expect(before.output_items).toEqual([message('m', '')]);
  });

  test('fills the text of messages, reasoning, calls and scripts from deltas', () => {
    const { output_items: items } = fold(
      start('m', 'message', { content: '> ' }),
      start('r', 'reasoning'),
      start('f', 'function_call', { name: 'exec', call_id: 'c' }),
      start('s', 'script_execution', { language: 'js' }),
      ...['m', 'r', 'f', 's'].flatMap((id) => [delta(id, 'a'), delta(id, 'b')]),
    );
    expect(items).toMatchObject([
      { content: '> ab' },
      { content: 'ab' },
      { arguments: 'ab', name: 'exec', call_id: 'c' },
      { source_code: 'ab', language: 'js', status: 'pending' },
    ]);
  });

  test('drops initial members that do not fit', () => {
    expect(
      fold(start('m', 'message', { content: 5, role: 'robot', id: 'x', type: 'error', phase: 'final' })).output_items,
    ).toEqual([{ ...message('m', ''), phase: 'final' }]);
  });

  test('shows a result after its end, in the place where it started', () => {
    const output: OutputItem = { type: 'function_call_output', id: 'o', call_id: 'c', output: 'x', success: true };
    const payloads = [start('o', 'function_call_output'), start('m', 'message')];
    expect(fold(...payloads).output_items.map(({ id }) => id)).toEqual(['m']);
    expect(
      fold(...payloads, { type: 'item_done', item_id: 'o', final_item: output }).output_items.map(({ id }) => id),
    ).toEqual(['o', 'm']);
  });

  test('appends an item that never started', () => {
    const done: EventPayload = { type: 'item_done', item_id: 'b', final_item: message('b', 'x') };
    expect(fold(start('a', 'message'), done).output_items).toEqual([message('a', ''), message('b', 'x')]);
  });

  test('treats the final item as authoritative: deltas after it are ignored', () => {
    expect(fold(...itemPayloads(message('m', 'final'), ['ot', 'her']), delta('m', '!')).output_items).toEqual([
      message('m', 'final'),
    ]);
  });

  test('shows a script while it streams, until its final item replaces it', () => {
    const initial = { language: 'js', format: 'fence' };
    const typing = [start('s', 'script_execution', initial), delta('s', 'ret'), delta('s', 'urn "')];
    const shown = fold(...typing).output_items;
    expect(shown).toMatchObject([{ id: 's', source_code: 'return "', status: 'pending', ...initial }]);
    const done: EventPayload = { type: 'item_done', item_id: 's', final_item: scriptItem('s') };
    expect(fold(...typing, done).output_items).toEqual([scriptItem('s')]);
    expect(fold(...typing, done, ...itemPayloads(scriptOutputItem('s', 'failed'))).output_items[0]).toEqual({
      ...scriptItem('s'),
      status: 'error',
    });
    expect(fold(start('m', 'message'), ...typing, start('n', 'message'), done).output_items).toEqual([
      message('m', ''),
      scriptItem('s'),
      message('n', ''),
    ]);
  });

  test('keeps the text of an item that failed and adds the error after it', () => {
    const error: EventPayload = { type: 'item_error', item_id: 'm', code: 'overloaded', message: 'busy' };
    expect(fold(start('m', 'message'), delta('m', 'half'), error, start('n', 'message')).output_items).toEqual([
      message('m', 'half'),
      { type: 'error', id: 'm_error', code: 'overloaded', message: 'busy' },
      message('n', ''),
    ]);
  });

  test('creates an error item for an unknown item', () => {
    const error: EventPayload = { type: 'item_error', item_id: 'm', code: 'overloaded', message: 'busy' };
    expect(fold(error).output_items).toEqual([{ type: 'error', id: 'm', code: 'overloaded', message: 'busy' }]);
  });

  test('removes a cancelled item without content and marks one with content', () => {
    const cancelled = (id: string): EventPayload => ({ type: 'item_cancelled', item_id: id, reason: 'stop' });
    const { output_items: items } = fold(
      start('empty', 'message'),
      start('call', 'function_call'),
      start('half', 'message'),
      start('typed', 'script_execution'),
      delta('call', '{"pa'),
      delta('half', 'so far'),
      delta('typed', 'await tools.'),
      ...itemPayloads(scriptItem('s')),
      ...['empty', 'call', 'half', 'typed', 's', 'nobody'].map(cancelled),
    );
    expect(items).toEqual([
      { ...message('half', 'so far'), cancelled: true, cancel_reason: 'stop' },
      { ...scriptItem('s'), status: 'error', cancelled: true, cancel_reason: 'stop' },
    ]);
  });

  test('moves a script on from suspended to executing to completed', () => {
    const suspended = [
      ...itemPayloads(scriptItem('s')),
      ...itemPayloads(scriptOutputItem('s', 'suspended')),
      { type: 'response_done', status: 'suspended' },
    ] satisfies EventPayload[];
    const resumed = [
      ...suspended,
      { type: 'response_start' },
      { type: 'item_update', item_id: 's', changes: { status: 'executing' } },
    ] satisfies EventPayload[];
    const done = {
      type: 'item_done',
      item_id: 'so',
      final_item: scriptOutputItem('s', 'completed'),
    } satisfies EventPayload;
    const updated = { type: 'item_update', item_id: 'so', changes: { status: 'failed' } } satisfies EventPayload;
    expect(scriptStatus(fold(...suspended))).toEqual(['suspended', 'suspended']);
    expect(scriptStatus(fold(...resumed))).toEqual(['in_progress', 'executing']);
    expect(scriptStatus(fold(...resumed, done))).toEqual(['in_progress', 'completed']);
    expect(scriptStatus(fold(...resumed, updated))).toEqual(['in_progress', 'error']);
  });

  test('keeps a script with its output after a gap', () => {
    const events = toEvents([
      ...itemPayloads(scriptItem('s')),
      {
        type: 'approval_requested',
        approval: {
          approval_id: 'a',
          call_id: 'c',
          tool: 'exec',
          input: {},
          input_json: '{}',
          effect: 'external',
          rendered: '',
          plan: [],
          covers: [],
          digest: 'd',
          planned: false,
          created_at: 1,
        },
      },
      { type: 'usage_update', usage: { input_tokens: 1, output_tokens: 1 } },
      ...itemPayloads(scriptOutputItem('s', 'completed')),
    ]);
    const reducer = new ResponseReducer();
    for (const event of events) if (event.seq !== 3) reducer.apply(event);
    expect(scriptStatus(reducer.response())).toEqual(['in_progress', 'pending']);
    expect(scriptStatus(reducer.response({ includePending: true }))).toEqual(['in_progress', 'completed']);
    expect(reducer.live({ includePending: true }).pendingApprovals).toHaveLength(1);
  });

  test('gives a script the status of an output that came first, also after a gap', () => {
    const events = toEvents([
      ...itemPayloads(scriptOutputItem('s', 'failed')),
      { type: 'usage_update', usage: { input_tokens: 1, output_tokens: 1 } },
      ...itemPayloads(scriptItem('s')),
    ]);
    expect(scriptStatus(foldResponse(events))).toEqual(['in_progress', 'error']);
    expect(scriptStatus(foldResponse(events.filter(({ seq }) => seq !== 2)))).toEqual(['in_progress', 'error']);
  });

  test('leaves a resumed script executing while its old output changes in other members', () => {
    const response = fold(
      ...itemPayloads(scriptItem('s')),
      ...itemPayloads(scriptOutputItem('s', 'suspended')),
      { type: 'item_update', item_id: 's', changes: { status: 'executing' } },
      { type: 'item_update', item_id: 'so', changes: { output: 'more' } },
    );
    expect(scriptStatus(response)).toEqual(['in_progress', 'executing']);
  });

  test('ends a script in error when its item fails', () => {
    const response = fold(...itemPayloads(scriptItem('s')), {
      type: 'item_error',
      item_id: 's',
      code: 'x',
      message: 'y',
    });
    expect(scriptStatus(response)).toEqual(['in_progress', 'error']);
  });

  test('ignores a second start of an item', () => {
    expect(fold(start('m', 'message'), delta('m', 'a'), start('m', 'reasoning')).output_items).toEqual([
      message('m', 'a'),
    ]);
    expect(fold(...itemPayloads(message('m', 'final')), start('m', 'message')).output_items).toEqual([
      message('m', 'final'),
    ]);
  });

  test('drops changes that would make an item invalid', () => {
    const changes = { status: 'flying', id: 'x', type: 'message', note: 'kept' };
    expect(fold(...itemPayloads(scriptItem('s')), { type: 'item_update', item_id: 's', changes }).output_items).toEqual(
      [{ ...scriptItem('s'), note: 'kept' }],
    );
  });

  test('fails with its error and still folds late events', () => {
    expect(
      fold(start('m', 'message'), { type: 'response_error', code: 'provider', message: 'gone' }, delta('m', 'late'), {
        type: 'usage_update',
        usage: { input_tokens: 3, output_tokens: 4 },
      }),
    ).toMatchObject({
      status: 'failed',
      error: { code: 'provider', message: 'gone' },
      output_items: [{ content: 'late' }],
      usage: { input_tokens: 3, output_tokens: 4 },
    });
  });

  test('shows running calls and undecided approvals until they end, and none after the end of the run', () => {
    const call = { call_id: 'c', tool: 'exec', input: {}, effect: 'external' as const };
    const approval = {
      approval_id: 'a',
      ...call,
      input_json: '{}',
      rendered: '{}',
      plan: [],
      covers: [],
      digest: 'd',
      planned: false,
      created_at: 1,
    };
    const payloads: EventPayload[] = [
      { type: 'tool_call_start', script_id: 's1', ...call },
      { type: 'tool_call_start', script_id: 's2', ...call },
      { type: 'approval_requested', approval },
      {
        type: 'tool_call_done',
        script_id: 's1',
        call_id: 'c',
        operation: { ...call, status: 'completed', started_at_ms: 0, duration_ms: 1 },
      },
    ];
    const live = liveAfter(toEvents(payloads));
    expect(live.toolCalls.map(({ script_id: scriptId }) => scriptId)).toEqual(['s2']);
    expect(live.pendingApprovals).toEqual([approval]);
    expect(liveAfter(toEvents([...payloads, { type: 'response_done', status: 'cancelled' }]))).toEqual({
      toolCalls: [],
      pendingApprovals: [],
    });
  });
});

function scriptStatus(response: Response): [Response['status'], string | undefined] {
  const script = response.output_items.find((item) => item.type === 'script_execution');
  return [response.status, script?.status];
}

function liveAfter(events: readonly StreamEvent[]) {
  const reducer = new ResponseReducer();
  for (const event of events) reducer.apply(event);
  return reducer.live({ includePending: true });
}
