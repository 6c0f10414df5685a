import { setTimeout as delay } from 'node:timers/promises';
import {
  endsRun,
  isFinalRunState,
  type EventLog,
  type ServiceStores,
  type StreamEvent,
} from '@toolscript/core/protocol';
import { eventsFrom } from './run-history.js';

/** How often, in ms, and how many times to poll a run whose last event is stored. */
const SETTLE_POLL_MS = 5;
const SETTLE_POLLS = 400;

/** How often to poll a run that the log does not know, in ms: it may have been deleted, or have ended. */
const UNKNOWN_CHECK_MS = 1_000;

type StreamStores = Pick<ServiceStores, 'threads' | 'runs'>;

/**
 * The events of a run starting with `from`, up to its last event, without duplicates and gaps. Live ones come from
 * the log; those of an ended run from the thread store. When a `response_done` arrives, the stores already contain
 * the run's new state and its approvals.
 */
export async function* streamRun(
  stores: StreamStores,
  log: EventLog,
  runId: string,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): AsyncGenerator<StreamEvent, void, undefined> {
  const { threads, runs } = stores;
  let next = from;
  const run = await runs.get(runId);
  if (run !== undefined && !isFinalRunState(run.state)) {
    for await (const event of loggedEvents(stores, log, runId, { from, signal })) {
      if (event.payload.type === 'response_done') await settled(stores, log, event);
      yield event;
      next = event.seq + 1;
      if (endsRun(event.payload)) return;
    }
  }
  // The log deletes a run some time after its end. The thread store still has the rest of the events.
  for (let more: number | undefined = next; more !== undefined && !signal.aborted;) {
    const page = await threads.readEvents(runId, { from: more });
    yield* page.events;
    more = page.next;
  }
}

/**
 * The events of a run that has not ended. If the log does not have the next one, for example because its server has lost
 * its data while the run waits for a decision, the thread store may.
 */
async function* loggedEvents(
  stores: StreamStores,
  log: EventLog,
  runId: string,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): AsyncGenerator<StreamEvent, void, undefined> {
  let next = from;
  if ((await log.read(runId, { from, limit: 1 })).events.length === 0)
    for (const event of await eventsFrom(from, (more) => stores.threads.readEvents(runId, { from: more }))) {
      yield event;
      next = event.seq + 1;
    }
  yield* liveEvents(stores, log, runId, { from: next, signal });
}

/** A live subscription that also ends for a run that never publishes. */
async function* liveEvents(
  { runs }: StreamStores,
  log: EventLog,
  runId: string,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): AsyncGenerator<StreamEvent, void, undefined> {
  const gone = new AbortController();
  const check = async () => {
    const run = await runs.get(runId);
    if (run === undefined || isFinalRunState(run.state)) gone.abort();
  };
  const checking = setInterval(() => void check().catch(() => {}), UNKNOWN_CHECK_MS).unref();
  try {
    for await (const event of log.subscribe(runId, { from, signal: AbortSignal.any([signal, gone.signal]) })) {
      clearInterval(checking);
      yield event;
    }
  } finally {
    clearInterval(checking);
  }
}

/**
 * Waits until the worker has ended or suspended the run, according to its newest event. The wait is limited, because
 * the worker may have died.
 */
async function settled(
  { runs }: StreamStores,
  log: EventLog,
  { run_id: runId, seq, payload }: StreamEvent,
): Promise<void> {
  for (let polls = 0; polls < SETTLE_POLLS; polls += 1) {
    const state = (await runs.get(runId))?.state;
    // The run's next worker ends a run that a stopping server returned to the queue after its last event.
    if (state === undefined || (endsRun(payload) ? isFinalRunState(state) : state !== 'running')) return;
    if ((await log.read(runId, { from: seq + 1, limit: 1 })).events.length > 0) return;
    await delay(SETTLE_POLL_MS);
  }
}
