import { bothSinks, EventStream, type PayloadSink } from '../answer/index.js';
import type { RunIdentity, StreamEvent } from '../protocol/index.js';
import { newId } from '../text/new-id.js';
import type { RunOptions } from './harness-types.js';

/** The names of a run in its events; generated if omitted. */
export function runIdentity(names: { runId?: string; threadId?: string; turnId?: string }): RunIdentity {
  return {
    runId: names.runId ?? newId('run'),
    threadId: names.threadId ?? newId('thr'),
    turnId: names.turnId ?? newId('turn'),
  };
}

/**
 * The destination of the payloads of a script or a call: envelopes for listeners, and the host's own log. `onEvent`:
 * the harness's listener.
 */
export function sinkOf(
  onEvent: ((event: StreamEvent) => void) | undefined,
  run: Pick<RunOptions, 'onEvent' | 'sink'>,
  identity: RunIdentity,
  nextSeq = 0,
): PayloadSink {
  const stream = new EventStream(identity, [onEvent, run.onEvent], nextSeq);
  return run.sink === undefined ? stream : bothSinks(stream, run.sink);
}
