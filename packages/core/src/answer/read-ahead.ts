import { EventQueue } from '../protocol/index.js';

/** The source failed while it was read. */
export class SourceFailure extends Error {}

export interface ReadAheadOptions<Item> {
  /** Ends the source when it aborts. */
  readonly signal: AbortSignal;
  /** Maximum time in ms that a source may continue after the signal; after that it is no longer read. */
  readonly graceMs: number;
  /** Called with each item when it arrives, before it is read. */
  readonly onArrival?: (item: Item) => void;
}

/** Pulls from a source without waiting for the reader, so that a running script never holds up the model. */
export async function* readAhead<Item>(
  source: AsyncIterable<Item>,
  { signal, graceMs, onArrival }: ReadAheadOptions<Item>,
): AsyncGenerator<Item, void, undefined> {
  const queue = new EventQueue<Item>();
  const iterator = source[Symbol.asyncIterator]();
  let failure: SourceFailure | undefined;
  const left = new AbortController();
  const pull = async () => {
    try {
      for (let next = await iterator.next(); next.done !== true && !left.signal.aborted; next = await iterator.next()) {
        queue.push(next.value);
        onArrival?.(next.value);
      }
    } catch (error) {
      failure = new SourceFailure(error instanceof Error ? error.message : String(error));
    } finally {
      queue.end();
    }
  };
  let grace: NodeJS.Timeout | undefined;
  const giveUp = () => {
    if (graceMs > 0) grace = setTimeout(() => queue.end(), graceMs);
    else queue.end();
  };
  if (signal.aborted) giveUp();
  else signal.addEventListener('abort', giveUp, { once: true });
  void pull();
  try {
    yield* queue;
  } finally {
    left.abort();
    clearTimeout(grace);
    signal.removeEventListener('abort', giveUp);
    // Runs in a separate task, because a source may throw here too.
    Promise.resolve()
      .then(() => iterator.return?.())
      .catch(() => {});
  }
  if (failure !== undefined) throw failure;
}
