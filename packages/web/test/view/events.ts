import type { StreamEvent } from '@toolscript/core/stream';

type Payload = StreamEvent['payload'];

/** Numbers the payloads of one run. A number before a payload is its time, in ms; otherwise 1 ms after the last one. */
export function eventsOf(...parts: readonly (Payload | number)[]): StreamEvent[] {
  const events: StreamEvent[] = [];
  let timestamp = 0;
  for (const part of parts) {
    if (typeof part === 'number') {
      timestamp = part - 1;
      continue;
    }
    timestamp += 1;
    const seq = events.length;
    events.push({
      event_id: `evt_${seq}`,
      run_id: 'run_1',
      thread_id: 'thr_1',
      turn_id: 'turn_1',
      seq,
      timestamp,
      payload: part,
    });
  }
  return events;
}

const SOURCE = "const a = await tools.read({ path: 'a' });\nawait tools.write({ path: 'b' });";

export const begin = (input = 'go'): Payload =>
  ({
    type: 'response_start',
    input: [{ type: 'message', id: 'item_0', role: 'user', content: input }],
  }) as Payload;

export const script = (status: 'pending' | 'executing' = 'executing'): Payload => ({
  type: 'item_done',
  item_id: 'item_1',
  final_item: {
    type: 'script_execution',
    id: 'item_1',
    call_id: 'call_1',
    script_id: 'scr_1',
    language: 'ts',
    format: 'tool',
    source_code: SOURCE,
    source_sha256: 'ab'.repeat(32),
    status,
    plan: [],
  },
});

export const callStart = (callId: string, tool = 'read', line = 1): Payload => ({
  type: 'tool_call_start',
  call_id: callId,
  script_id: 'scr_1',
  tool,
  input: { path: 'a' },
  effect: tool === 'read' ? 'read' : 'write',
  line,
});

export const operation = (callId: string, tool = 'read', status: 'completed' | 'failed' = 'completed', line = 1) => ({
  call_id: callId,
  tool,
  input: { path: 'a' },
  effect: tool === 'read' ? ('read' as const) : ('write' as const),
  status,
  result: 'text',
  started_at_ms: 0,
  duration_ms: 5,
  line,
});

export const callDone = (...given: Parameters<typeof operation>): Payload => ({
  type: 'tool_call_done',
  call_id: given[0],
  script_id: 'scr_1',
  operation: operation(...given),
});

export const asked = (callId: string): Payload => ({
  type: 'approval_requested',
  approval: {
    approval_id: 'apr_1',
    call_id: callId,
    script_id: 'scr_1',
    tool: 'write',
    input: {},
    input_json: '{}',
    effect: 'write',
    line: 2,
    rendered: 'write',
    plan: [],
    covers: [],
    digest: 'd',
    planned: false,
    created_at: 1,
  },
});

export const decided = (callId: string, decision: 'approve' | 'deny' = 'approve'): Payload => ({
  type: 'approval_resolved',
  approval_id: 'apr_1',
  call_id: callId,
  script_id: 'scr_1',
  decision,
  by: 'person',
});

export const output = (operations: ReturnType<typeof operation>[] = []): Payload => ({
  type: 'item_done',
  item_id: 'item_2',
  final_item: {
    type: 'script_execution_output',
    id: 'item_2',
    call_id: 'call_1',
    script_id: 'scr_1',
    status: 'completed',
    result: 1,
    logs: [],
    operations,
    metadata: {
      duration_ms: 5,
      compute_ms: 1,
      approval_wait_ms: 0,
      tool_calls_made: 1,
      memory_used_mb: 1,
      cache_hit: false,
      compilation_cache_hit: false,
    },
  },
});
