import { EventQueue, type EventPayload } from '../protocol/index.js';

/** The source failed while it was read. */
export class SourceFailure extends Error {}

export interface ReadAheadOptions<Item> {
  /** When this signal aborts, the source must end within `graceMs`. */
  readonly signal: AbortSignal;
  /**
   * Maximum time in ms that a source may continue after the signal aborts. After that time, the source is no longer
   * read.
   */
  readonly graceMs: number;
  /** Called with each item when it arrives, before it is read. */
  readonly onArrival?: ((item: Item) => void) | undefined;
}

/** Pulls items from a source without waiting for the reader, so that a running script never delays the model. */
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
    // The `return` of the source is called in a separate task, because `return` may throw.
    Promise.resolve()
      .then(() => iterator.return?.())
      .catch(() => {});
  }
  if (failure !== undefined) throw failure;
}

/** Maximum time in ms for a provider to report an answer's usage after the answer's script has ended. */
const USAGE_WAIT_MS = 1000;

/**
 * Ends an answer after its script. Most models stop after a script by themselves, and the provider then reports the
 * usage of the answer. So Toolscript stops the provider only when the model writes more, or when the answer does not
 * end in time. White space counts as more text, because later requests must repeat the answer as the provider stored
 * the answer.
 *
 *   open ──the script's end──▶ closing ──more output | no end in time──▶ stopped
 */
export class AnswerCut {
  readonly #stop: () => void;
  #isClosing = false;
  /** The number of payloads with output that have arrived, and the number that were read. */
  #came = 0;
  #read = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `stop` ends the provider's stream. */
  constructor(stop: () => void) {
    this.#stop = stop;
  }

  /** Notes that a payload has arrived from the provider; the player reads the payload later. */
  came(payload: EventPayload): void {
    if (!saysSomething(payload)) return;
    this.#came += 1;
    if (this.#isClosing) this.#stop();
  }

  read(payload: EventPayload): void {
    if (saysSomething(payload)) this.#read += 1;
  }

  /** Notes that the script has ended. `saysMore`: more text follows the script in the same chunk. */
  close(saysMore: boolean): void {
    this.#isClosing = true;
    if (saysMore || this.#came > this.#read) return this.#stop();
    this.#timer = setTimeout(this.#stop, USAGE_WAIT_MS);
  }

  /** Notes that the answer was read to its end. */
  end(): void {
    clearTimeout(this.#timer);
  }
}

function saysSomething(payload: EventPayload): boolean {
  if (payload.type === 'item_start') return payload.item_type !== 'message';
  return payload.type === 'item_delta' && payload.delta !== '';
}

/** An answer's failure, with the details of its request: status, id, attempts. */
export interface ProviderFailure {
  readonly code: string;
  readonly message: string;
  readonly [member: string]: unknown;
}

const KEPT = ['status', 'request_id', 'retryable', 'attempts', 'retry_after_ms'];

/** Returns the failure without the provider's own error object, which may be long. */
export function providerFailure(error: Extract<EventPayload, { type: 'response_error' }>): ProviderFailure {
  const kept = Object.entries(error).filter(([name]) => KEPT.includes(name));
  return { ...Object.fromEntries(kept), code: error.code, message: error.message };
}
