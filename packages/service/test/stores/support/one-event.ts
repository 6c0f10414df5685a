import type { StreamEvent } from '@toolscript/core/protocol';

/** An event of `run_a` with a chunk of text. */
export const event = (seq: number): StreamEvent => ({
  event_id: `evt_${seq}`,
  run_id: 'run_a',
  thread_id: 'thr_a',
  turn_id: 'turn_a',
  seq,
  timestamp: 175e10 + seq,
  payload: { type: 'item_delta', item_id: 'item_1', delta: 'text' },
});
