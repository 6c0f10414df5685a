import assert from 'node:assert/strict';
import { ResponseReducer } from '@toolscript/core/history';
import { StreamEventSchema } from '@toolscript/core/protocol';
import { alternate } from '../measure.mjs';

/** Deltas of one message, and tool calls of one script, in every turn of the run. */
const DELTAS = 40;
const CALLS = 4;

export const name = 'reducer';

/** The events of a long run, folded one by one in their order. */
export async function measure({ effort }) {
  const { events, items } = runEvents(effort.events);
  for (const event of events.slice(0, 100)) StreamEventSchema.parse(event);
  const block = () => {
    const reducer = new ResponseReducer();
    const began = performance.now();
    for (const event of events) reducer.apply(event);
    const response = reducer.response();
    const tookMs = performance.now() - began;
    assert.equal(response.output_items.length, items, 'not every item was folded');
    assert.equal(response.status, 'completed');
    return [(1_000 * events.length) / tookMs];
  };
  block();
  const row = {
    name: 'reducer',
    title: 'events of one long run folded into its Response',
    unit: 'events/s',
    better: 'higher',
    limit: 500_000,
  };
  return [await alternate(row, [{ name: 'toolscript', role: 'ours', block }], effort.rounds)];
}

function runEvents(atLeast) {
  const events = [];
  let items = 0;
  const emit = (payload) => {
    const seq = events.length;
    events.push({
      event_id: `evt_${seq}`,
      run_id: 'run_1',
      thread_id: 'thr_1',
      turn_id: 'turn_1',
      seq,
      timestamp: 1_700_000_000_000 + seq,
      payload,
    });
  };
  emit({ type: 'response_start' });
  for (let turn = 0; events.length < atLeast; turn++) items += emitTurn(emit, turn);
  emit({ type: 'response_done', status: 'completed' });
  return { events, items };
}

/** One message, one script with its calls, its output. Returns the number of these items. */
function emitTurn(emit, turn) {
  const pieces = Array.from({ length: DELTAS }, (_, index) => `word ${index} `);
  const message = `msg_${turn}`;
  emit({ type: 'item_start', item_id: message, item_type: 'message' });
  for (const delta of pieces) emit({ type: 'item_delta', item_id: message, delta });
  emit({
    type: 'item_done',
    item_id: message,
    final_item: { type: 'message', id: message, role: 'assistant', content: pieces.join('') },
  });
  const script = {
    type: 'script_execution',
    id: `script_${turn}`,
    call_id: `call_${turn}`,
    language: 'ts',
    format: 'xml',
    source_code: 'return 1',
    source_sha256: 'a'.repeat(64),
    status: 'executing',
  };
  emit({ type: 'item_start', item_id: script.id, item_type: 'script_execution' });
  emit({ type: 'item_done', item_id: script.id, final_item: script });
  for (let index = 0; index < CALLS; index++) emitCall(emit, `tool_${turn}_${index}`);
  emitOutput(emit, turn);
  return 3;
}

function emitCall(emit, callId) {
  const input = { path: 'src/alpha.ts' };
  emit({
    type: 'tool_call_start',
    call_id: callId,
    script_id: 'scr_1',
    tool: 'readFile',
    input,
    effect: 'read',
    line: 3,
  });
  const operation = {
    call_id: callId,
    tool: 'readFile',
    input,
    effect: 'read',
    status: 'completed',
    result: { lines: [] },
    started_at_ms: 1,
    duration_ms: 2,
    line: 3,
  };
  emit({ type: 'tool_call_done', call_id: callId, script_id: 'scr_1', operation });
}

function emitOutput(emit, turn) {
  const id = `output_${turn}`;
  const metadata = {
    duration_ms: 1,
    compute_ms: 1,
    approval_wait_ms: 0,
    tool_calls_made: CALLS,
    memory_used_mb: 1,
    cache_hit: false,
    compilation_cache_hit: false,
  };
  const output = {
    type: 'script_execution_output',
    id,
    status: 'completed',
    call_id: `call_${turn}`,
    output_json: '1',
    logs: [],
    operations: [],
    metadata,
  };
  emit({ type: 'item_start', item_id: id, item_type: 'script_execution_output' });
  emit({ type: 'item_done', item_id: id, final_item: output });
}
