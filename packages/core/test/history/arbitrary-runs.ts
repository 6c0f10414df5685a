import fc from 'fast-check';
import type { EventPayload, OutputItem, StreamEvent } from '#core/protocol/index.js';

/** A run as a harness writes it, and the expected result of a reader. */
export interface Run {
  events: StreamEvent[];
  /** The finished items in order of their start, scripts with the status that their outputs gave them. */
  items: OutputItem[];
}

interface Piece {
  payloads: EventPayload[];
  items: OutputItem[];
}

export function toEvents(payloads: readonly EventPayload[], runId = 'run_1'): StreamEvent[] {
  return payloads.map((payload, seq) => ({
    event_id: `${runId}:${seq}`,
    run_id: runId,
    thread_id: 'thread_1',
    turn_id: 'turn_1',
    seq,
    timestamp: 1_700_000_000_000 + seq,
    payload,
  }));
}

/** Runs that follow the protocol: items one after another, then the end. */
export const protocolRun: fc.Arbitrary<Run> = fc
  .tuple(fc.array(piece(), { maxLength: 6 }), fc.constantFrom('completed', 'suspended', 'failed', 'incomplete'))
  .map(([pieces, status]) => {
    const numbered = pieces.map((make, index) => make(`i${index}`));
    return {
      events: toEvents([
        { type: 'response_start' },
        ...numbered.flatMap(({ payloads }) => payloads),
        { type: 'response_done', status, usage: { input_tokens: 1, output_tokens: 2 } } as EventPayload,
      ]),
      items: numbered.flatMap(({ items }) => items),
    };
  });

/** Every event once, in some order, and some events several times. */
export function shuffledWithDuplicates(events: readonly StreamEvent[]): fc.Arbitrary<StreamEvent[]> {
  const all = fc.shuffledSubarray([...events], { minLength: events.length, maxLength: events.length });
  return fc.tuple(all, fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 8 })).map(([order, copies]) => {
    const stream = [...order];
    for (const [from, to] of copies)
      stream.splice(to % (stream.length + 1), 0, structuredClone(order[from % order.length]!));
    return stream;
  });
}

function piece(): fc.Arbitrary<(id: string) => Piece> {
  return fc.oneof(textPiece('message'), textPiece('reasoning'), functionPiece(), scriptPiece());
}

function textPiece(type: 'message' | 'reasoning'): fc.Arbitrary<(id: string) => Piece> {
  return fc.array(fc.string({ unit: 'binary', maxLength: 6 }), { maxLength: 5 }).map((deltas) => (id) => {
    const content = deltas.join('');
    const item: OutputItem = type === 'message' ? { type, id, role: 'assistant', content } : { type, id, content };
    return { payloads: itemPayloads(item, deltas), items: [item] };
  });
}

function functionPiece(): fc.Arbitrary<(id: string) => Piece> {
  return fc
    .tuple(fc.array(fc.string({ maxLength: 4 }), { maxLength: 4 }), fc.boolean())
    .map(([deltas, success]) => (id) => {
      const call: OutputItem = {
        type: 'function_call',
        id,
        call_id: `c_${id}`,
        name: 'readFile',
        arguments: deltas.join(''),
      };
      const output: OutputItem = {
        type: 'function_call_output',
        id: `${id}o`,
        call_id: `c_${id}`,
        output: 'x',
        success,
      };
      return { payloads: [...itemPayloads(call, deltas), ...itemPayloads(output)], items: [call, output] };
    });
}

function scriptPiece(): fc.Arbitrary<(id: string) => Piece> {
  const shape = {
    status: fc.constantFrom('completed' as const, 'failed' as const, 'suspended' as const),
    calls: fc.nat(3),
    typed: fc.subarray(['ret', 'urn ', '1 +']),
  };
  return fc.record(shape).map(({ status, calls, typed }) => (id) => {
    const script = scriptItem(id);
    const output = scriptOutputItem(id, status);
    const activity = Array.from({ length: calls }, (_, index) => callPayloads(id, `${id}_${index}`)).flat();
    const after = { completed: 'completed', failed: 'error', suspended: 'suspended' } as const;
    return {
      payloads: [...itemPayloads(script, typed), ...activity, ...itemPayloads(output)],
      items: [{ ...script, status: after[status] }, output],
    };
  });
}

export function scriptItem(id: string): Extract<OutputItem, { type: 'script_execution' }> {
  return {
    type: 'script_execution',
    id,
    call_id: `c_${id}`,
    language: 'ts',
    format: 'xml',
    source_code: 'return 1',
    source_sha256: 'ab',
    status: 'pending',
  };
}

export function scriptOutputItem(
  id: string,
  status: 'completed' | 'failed' | 'suspended',
): Extract<OutputItem, { type: 'script_execution_output' }> {
  return {
    type: 'script_execution_output',
    id: `${id}o`,
    call_id: `c_${id}`,
    status,
    logs: [],
    operations: [],
    metadata: {
      duration_ms: 1,
      compute_ms: 1,
      approval_wait_ms: 0,
      tool_calls_made: 0,
      memory_used_mb: 1,
      cache_hit: false,
      compilation_cache_hit: false,
    },
  };
}

export function itemPayloads(item: OutputItem, deltas: readonly string[] = []): EventPayload[] {
  return [
    { type: 'item_start', item_id: item.id, item_type: item.type },
    ...deltas.map((delta): EventPayload => ({ type: 'item_delta', item_id: item.id, delta })),
    { type: 'item_done', item_id: item.id, final_item: item },
  ];
}

const NO_PLAN = { plan: [], covers: [], digest: 'd', planned: false, created_at: 1 };

function callPayloads(scriptId: string, callId: string): EventPayload[] {
  const call = { call_id: callId, tool: 'exec', input: {}, effect: 'external' as const };
  return [
    { type: 'tool_call_start', script_id: scriptId, ...call },
    {
      type: 'approval_requested',
      approval: { approval_id: `a_${callId}`, ...call, input_json: '{}', rendered: '{}', ...NO_PLAN },
    },
    { type: 'approval_resolved', approval_id: `a_${callId}`, call_id: callId, decision: 'approve', by: 'person' },
    { type: 'script_log', script_id: scriptId, level: 'log', text: 'hello', at_ms: 1 },
    { type: 'script_progress', script_id: scriptId, message: 'half', kind: 'info' },
    {
      type: 'tool_call_done',
      script_id: scriptId,
      call_id: callId,
      operation: { ...call, status: 'completed', started_at_ms: 0, duration_ms: 1 },
    },
  ];
}

/** Payloads that the schema accepts but no harness writes: few ids, so they collide. */
export const hostilePayload: fc.Arbitrary<EventPayload> = hostile();

function hostile(): fc.Arbitrary<EventPayload> {
  const id = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor');
  const text = fc.string({ maxLength: 5 });
  const members = fc.dictionary(
    fc.constantFrom(
      '__proto__',
      'constructor',
      'type',
      'id',
      'status',
      'content',
      'call_id',
      'arguments',
      'source_code',
      'error',
      'logs',
      'extra',
      'toJSON',
    ),
    fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('suspended', 'executing', 'completed', 'c_a')),
    { noNullPrototype: true },
  );
  const item: fc.Arbitrary<OutputItem> = fc.oneof(
    fc.tuple(id, text, members).map(([itemId, content, extra]): OutputItem => ({
      ...extra,
      type: 'message',
      id: itemId,
      role: 'user',
      content,
    })),
    fc.tuple(id, text).map(([itemId, message]): OutputItem => ({ type: 'error', id: itemId, code: 'x', message })),
    id.map((itemId): OutputItem => scriptItem(itemId)),
    fc
      .tuple(id, fc.constantFrom('completed' as const, 'failed' as const, 'suspended' as const))
      .map(([itemId, status]): OutputItem => scriptOutputItem(itemId, status)),
  );
  const itemType = fc.constantFrom(
    'message',
    'reasoning',
    'function_call',
    'function_call_output',
    'script_execution',
    'script_execution_output',
    'error',
  );
  const call = fc.record({
    call_id: id,
    tool: text,
    input: fc.jsonValue(),
    effect: fc.constantFrom('read', 'write', 'external'),
  });
  return fc.oneof(
    fc.record({ type: fc.constant('response_start') }),
    fc.record({ type: fc.constant('item_start'), item_id: id, item_type: itemType, initial: members }),
    fc.record({ type: fc.constant('item_delta'), item_id: id, delta: text }),
    fc.record({ type: fc.constant('item_done'), item_id: id, final_item: item }),
    fc.record({ type: fc.constant('item_error'), item_id: id, code: text, message: text }),
    fc.record(
      { type: fc.constant('item_cancelled'), item_id: id, reason: text },
      { requiredKeys: ['type', 'item_id'] },
    ),
    fc.record({ type: fc.constant('item_update'), item_id: id, changes: members }),
    call.map((members_) => ({ type: 'tool_call_start', ...members_ })),
    call.map((members_) => ({
      type: 'tool_call_done',
      call_id: members_.call_id,
      operation: { ...members_, status: 'unknown', started_at_ms: 0, duration_ms: 0 },
    })),
    call.map((members_) => ({
      type: 'approval_requested',
      approval: { approval_id: members_.call_id, ...members_, input_json: '', rendered: '', ...NO_PLAN },
    })),
    fc.record({
      type: fc.constant('approval_resolved'),
      approval_id: id,
      call_id: id,
      decision: fc.constant('deny'),
      by: fc.constant('clock'),
    }),
    fc.record({
      type: fc.constant('usage_update'),
      usage: fc.record({ input_tokens: fc.nat(), output_tokens: fc.nat() }),
    }),
    fc.record({
      type: fc.constant('response_done'),
      status: fc.constantFrom('completed', 'suspended', 'failed', 'cancelled', 'incomplete'),
    }),
    fc.record({ type: fc.constant('response_error'), code: text, message: text }),
  ) as fc.Arbitrary<EventPayload>;
}
