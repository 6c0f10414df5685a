import { EventQueue, type StreamEvent } from '../protocol/index.js';

/**
 * The events of a run as a generator. `prepare` is called at once and may throw for wrong options; the function that
 * it returns starts the run at the first `next`. `handled` resolves when the consumer asks for the event after those
 * that were pushed so far. Leaving the loop early aborts the run's signal and waits for its end.
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
    () => queue.handled(),
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
