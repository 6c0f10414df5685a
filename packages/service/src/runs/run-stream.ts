import { endsRun } from '@toolscript/core/stream';
import { isFinalRunState } from '@toolscript/core/internal';
import type { EventLog, ServiceStores, StreamEvent } from '@toolscript/core/protocol';
import { untilTrue } from './until-true.js';

/**
 * The maximum wait for the new state of a run whose last event is in the log, and the interval between checks, in ms.
 */
const SETTLE_MS = 2_000;
const SETTLE_LOOK_MS = 250;

/**
 * The first time without events after which the stream reads the run again, in ms. The time doubles up to the maximum.
 */
const FIRST_SILENCE_MS = 1_000;
const MAX_SILENCE_MS = 30_000;

type StreamStores = Pick<ServiceStores, 'threads' | 'runs'>;

interface StreamRange {
  readonly from: number;
  readonly signal: AbortSignal;
}

/**
 * The events of a run from `from` to the run's last event, without duplicates or gaps. Live events come from the log.
 * Events of an ended run, and events that the log no longer has, come from the thread store. The stream yields a
 * `response_done` when the stores contain the run's new state and its approvals, or after a maximum wait.
 */
export async function* streamRun(
  stores: StreamStores,
  log: EventLog,
  runId: string,
  { from, signal }: StreamRange,
): AsyncGenerator<StreamEvent, void, undefined> {
  let next = from;
  let silenceMs = FIRST_SILENCE_MS;
  while (!signal.aborted) {
    const run = await stores.runs.get(runId);
    const isOpen = run !== undefined && !isFinalRunState(run.state);
    const events = isOpen
      ? openEvents(stores, log, runId, { from: next, signal, silenceMs })
      : storedEvents(stores, runId, { from: next, signal });
    silenceMs = Math.min(silenceMs * 2, MAX_SILENCE_MS);
    for await (const event of events) {
      if (isOpen && event.payload.type === 'response_done') await untilSettled(stores, log, event, signal);
      yield event;
      next = event.seq + 1;
      silenceMs = FIRST_SILENCE_MS;
      if (isOpen && endsRun(event.payload)) return;
    }
    if (!isOpen) return;
  }
}

async function* storedEvents(
  { threads }: StreamStores,
  runId: string,
  { from, signal }: StreamRange,
): AsyncGenerator<StreamEvent, void, undefined> {
  for (let more: number | undefined = from; more !== undefined && !signal.aborted;) {
    const page = await threads.readEvents(runId, { from: more });
    yield* page.events;
    more = page.next;
  }
}

/**
 * Yields the events of a run that has not ended, until no event arrives for `silenceMs`. If the log has lost the run,
 * the thread store has the run's events.
 */
async function* openEvents(
  stores: StreamStores,
  log: EventLog,
  runId: string,
  { from, signal, silenceMs }: StreamRange & { readonly silenceMs: number },
): AsyncGenerator<StreamEvent, void, undefined> {
  let next = from;
  if ((await log.read(runId, { from, limit: 1 })).events.length === 0)
    for await (const event of storedEvents(stores, runId, { from, signal })) {
      yield event;
      next = event.seq + 1;
    }
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), silenceMs).unref();
  try {
    const either = AbortSignal.any([signal, silence.signal]);
    const earlier = (seq: number) => stores.threads.readEvents(runId, { from: seq });
    for await (const event of log.subscribe(runId, { from: next, signal: either, earlier })) {
      timer.refresh();
      yield event;
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits until the worker has ended or suspended the run, according to the run's newest event. The wait is limited,
 * because the worker may have died.
 */
async function untilSettled(
  { runs }: StreamStores,
  log: EventLog,
  { run_id: runId, seq, payload }: StreamEvent,
  signal: AbortSignal,
): Promise<void> {
  const isSettled = async () => {
    const state = (await runs.get(runId))?.state;
    // The state is `queued` if a stopping server returned the run to the queue after the run's last event. The next
    // worker then ends the run.
    if (state === undefined || (endsRun(payload) ? isFinalRunState(state) : state !== 'running')) return true;
    return (await log.read(runId, { from: seq + 1, limit: 1 })).events.length > 0;
  };
  await untilTrue({
    watch: (ending) => runs.watch({ signal: ending, runId }),
    isTrue: isSettled,
    waitMs: SETTLE_MS,
    lookMs: SETTLE_LOOK_MS,
    signal,
  });
}
