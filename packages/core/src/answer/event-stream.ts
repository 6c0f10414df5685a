import {
  EventEnvelopes,
  EventQueue,
  type EventPayload,
  type PayloadSink,
  type RunIdentity,
  type StreamEvent,
} from '../protocol/index.js';
import { newId } from '../text/crypto.js';

/** Emits the events of one run: puts the payloads into envelopes, in order and without gaps. */
export class EventStream implements PayloadSink {
  readonly identity: RunIdentity;
  readonly #envelopes: EventEnvelopes;
  readonly #plan = new PlanMerger();
  readonly #listeners: ((event: StreamEvent) => void)[];

  /** `nextSeq`: the number of the first event, for a run that continues. Default 0. */
  constructor(identity: RunIdentity, listeners: readonly (((event: StreamEvent) => void) | undefined)[], nextSeq = 0) {
    this.identity = identity;
    this.#envelopes = new EventEnvelopes(identity, nextSeq);
    this.#listeners = listeners.filter((listener) => listener !== undefined);
  }

  /** Adds a listener, which receives the later events. */
  listen(listener: (event: StreamEvent) => void): void {
    this.#listeners.push(listener);
  }

  /** Returns a stream for another run with the same listeners. */
  ofRun(identity: RunIdentity): EventStream {
    return new EventStream(identity, this.#listeners);
  }

  /** Emits a payload. Does nothing without listeners. A listener that throws does not change the run. */
  emit(payload: EventPayload): void {
    if (this.#listeners.length === 0) return;
    const merged = this.#plan.take(payload);
    if (merged === undefined) return;
    const event = this.#envelopes.next(merged);
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // The host's listener failed; the run continues.
      }
    }
  }

  get nextSeq(): number {
    return this.#envelopes.nextSeq;
  }

  get hasListeners(): boolean {
    return this.#listeners.length > 0;
  }
}

/** Returns the ids for the events of a run. Missing ids are generated. */
export function runIdentity(names: {
  runId?: string | undefined;
  threadId?: string | undefined;
  turnId?: string | undefined;
}): RunIdentity {
  return {
    runId: names.runId ?? newId('run'),
    threadId: names.threadId ?? newId('thr'),
    turnId: names.turnId ?? newId('turn'),
  };
}

/** The receivers of a run's events. */
interface Receivers {
  readonly onEvent?: ((event: StreamEvent) => void) | undefined;
  /** The host's own log. */
  readonly sink?: PayloadSink | undefined;
}

/**
 * Returns the sink for the payloads of a script or a call: a stream of events for the listeners, and the host's own
 * log. `onEvent`: the harness's listener.
 */
export function payloadSink(
  onEvent: ((event: StreamEvent) => void) | undefined,
  run: Receivers,
  identity: RunIdentity,
  nextSeq = 0,
): PayloadSink {
  const stream = new EventStream(identity, [onEvent, run.onEvent], nextSeq);
  return run.sink === undefined ? stream : bothSinks(stream, run.sink);
}

/** Emits to both sinks, for a host that keeps its own log in addition to the listeners of the harness. */
function bothSinks(first: PayloadSink, second: PayloadSink): PayloadSink {
  if (!first.hasListeners) return second;
  return {
    identity: second.identity,
    flush: second.flush,
    takeCall: second.takeCall,
    emit(payload) {
      first.emit(payload);
      second.emit(payload);
    },
    hasListeners: true,
    get nextSeq() {
      return second.nextSeq;
    },
  };
}

type ItemPayload = Extract<EventPayload, { item_id: string }>;

/** Merges the plans of a run into one: each later plan item becomes an update of the first plan item. */
class PlanMerger {
  #id: string | undefined;
  #later: Set<string> | undefined;

  /** Returns the payload to emit; undefined if the payload changes nothing. */
  take(payload: EventPayload): EventPayload | undefined {
    if (payload.type === 'item_start' && payload.item_type === 'plan') return this.#start(payload);
    if (this.#later === undefined || !isOfItem(payload) || !this.#later.has(payload.item_id)) return payload;
    if (payload.type !== 'item_done') return { ...payload, item_id: this.#id! };
    const { type: _type, id: _id, ...changes } = payload.final_item;
    return { type: 'item_update', item_id: this.#id!, changes };
  }

  #start(payload: Extract<EventPayload, { type: 'item_start' }>): EventPayload | undefined {
    if (this.#id !== undefined) {
      this.#later ??= new Set();
      this.#later.add(payload.item_id);
      return undefined;
    }
    this.#id = payload.item_id;
    return payload;
  }
}

function isOfItem(payload: EventPayload): payload is ItemPayload {
  return payload.type.startsWith('item_');
}

/**
 * Returns the events of a run as a generator. `prepare` is called at once and may throw for invalid options. The
 * function that `prepare` returns starts the run at the first `next`. `untilHandled` resolves when the consumer has received
 * all events that were pushed so far, and requests the next one. If the consumer leaves its loop early, the generator
 * aborts the signal of the run and waits until the run has ended.
 */
export function generateEvents(
  outer: AbortSignal | undefined,
  prepare: (
    push: (event: StreamEvent) => void,
    signal: AbortSignal,
    handled: () => Promise<void>,
  ) => () => Promise<void>,
): AsyncGenerator<StreamEvent, void, undefined> {
  const queue = new EventQueue<StreamEvent>();
  const stop = new AbortController();
  const signal = outer === undefined ? stop.signal : AbortSignal.any([outer, stop.signal]);
  const start = prepare(
    (event) => queue.push(event),
    signal,
    () => queue.untilHandled(),
  );
  const events = drain(queue, stop, start);
  // A generator's own `return` waits for a pending `next`. This method first ends the work that `next` waits for.
  const end = events.return.bind(events);
  events.return = (value) => {
    stop.abort();
    return end(value);
  };
  return events;
}

async function* drain(
  queue: EventQueue<StreamEvent>,
  stop: AbortController,
  start: () => Promise<void>,
): AsyncGenerator<StreamEvent, void, undefined> {
  const working = start().finally(() => queue.end());
  // The failure is reported below; until then nothing awaits this promise.
  working.catch(() => {});
  try {
    yield* queue;
    await working;
  } finally {
    stop.abort();
    await working.catch(() => {});
  }
}
