import { endsRun, type StreamEvent } from '@toolscript/core/stream';
import { backoffDelay, delay } from './backoff.js';
import { Connection } from './connection.js';
import { ProblemError } from './problem-error.js';

export interface Retry {
  /** The number of the attempt; 1 for the first attempt after data arrived. */
  readonly attempt: number;
  readonly delayMs: number;
  /** The reason why there is no connection. */
  readonly error: unknown;
}

export interface StreamOptions {
  /** The `seq` of the first event. Default 0. */
  readonly from?: number | undefined;
  /** Ends the stream without an error. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Maximum number of consecutive attempts to reconnect before the stream fails. Default 20, which takes about 2
   * minutes if each attempt fails at once.
   */
  readonly maxRetries?: number | undefined;
  /** The client reconnects after this time without data, in ms. Default 45 000: the server sends data every 15 s. */
  readonly maxSilenceMs?: number | undefined;
  /** Called before the client waits for its next attempt to connect. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

export interface StreamRequest {
  /** The `seq` of the first requested event. */
  readonly from: number;
  /** The `seq` of the last event that has arrived; undefined if none has. */
  readonly lastSeq: number | undefined;
  readonly signal: AbortSignal;
}

type OpenStream = (request: StreamRequest) => Promise<Response>;

const DEFAULT_MAX_RETRIES = 20;
const DEFAULT_MAX_SILENCE_MS = 45_000;

/** The HTTP statuses after which the same request may succeed later. */
const TEMPORARY_STATUSES: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/**
 * The events of a run, in the batches in which they arrive, until the run's last event. After a lost connection, the
 * next connection starts after the last event that arrived, so no event is duplicated or missing.
 */
export function streamBatches(
  open: OpenStream,
  options: StreamOptions,
): AsyncGenerator<readonly StreamEvent[], void, undefined> {
  return eventBatches(open, new Position(options.from ?? 0), options);
}

/** Yields when lists of the server have changed, or may have changed while there was no connection. */
export async function* streamChanges(
  open: OpenStream,
  options: Omit<StreamOptions, 'from'>,
): AsyncGenerator<void, void, undefined> {
  for await (const _events of eventBatches(open, EVERY_EVENT, options)) yield;
}

async function* eventBatches(
  open: OpenStream,
  position: Progress,
  options: StreamOptions,
): AsyncGenerator<readonly StreamEvent[], void, undefined> {
  const { from = 0, signal, maxRetries = DEFAULT_MAX_RETRIES, maxSilenceMs = DEFAULT_MAX_SILENCE_MS } = options;
  const isAborted = () => signal?.aborted === true;
  for (let failures = 0; !isAborted();) {
    const connection = new Connection(signal, maxSilenceMs);
    let error: unknown;
    try {
      const request = (abort: AbortSignal) => open({ from, lastSeq: position.lastSeq, signal: abort });
      const response = await connection.open(request);
      if (response === undefined) return;
      for await (const events of connection.read(response)) {
        const fresh = position.take(events);
        if (fresh.length > 0 || events.length === 0) failures = 0;
        if (fresh.length > 0) yield fresh;
        if (position.isEnded) return;
        if (fresh.length < events.length && position.isBehind(events)) break;
      }
      error = new Error('The connection ended before the stream did. Read the stream again.');
    } catch (thrown) {
      error = thrown;
    } finally {
      connection.close();
    }
    if (isAborted()) return;
    failures += 1;
    if (failures > maxRetries || !isTemporary(error)) throw error;
    await waitToRetry({ attempt: failures, delayMs: reconnectDelay(failures, error), error }, options);
  }
}

async function waitToRetry(retry: Retry, { onRetry, signal }: StreamOptions): Promise<void> {
  onRetry?.(retry);
  await delay(retry.delayMs, signal);
}

function isTemporary(error: unknown): boolean {
  return !(error instanceof ProblemError) || TEMPORARY_STATUSES.includes(error.status);
}

function reconnectDelay(attempt: number, error: unknown): number {
  const askedMs = error instanceof ProblemError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(backoffDelay(attempt), askedMs);
}

/** The position of a reader in a stream. */
interface Progress {
  readonly lastSeq: number | undefined;
  readonly isEnded: boolean;
  /** The events that are new, up to the first gap. */
  take(events: readonly StreamEvent[]): readonly StreamEvent[];
  /** Whether there is a gap before the last of the events. */
  isBehind(events: readonly StreamEvent[]): boolean;
}

/** The progress in a stream that has no order and no end. */
const EVERY_EVENT: Progress = {
  lastSeq: undefined,
  isEnded: false,
  take: (events) => events,
  isBehind: () => false,
};

/** The progress in the events of a run. */
class Position implements Progress {
  readonly #from: number;
  #next: number;
  #isEnded = false;

  constructor(from: number) {
    this.#from = from;
    this.#next = from;
  }

  get lastSeq(): number | undefined {
    return this.#next === this.#from ? undefined : this.#next - 1;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  take(events: readonly StreamEvent[]): readonly StreamEvent[] {
    const fresh: StreamEvent[] = [];
    for (const event of events) {
      if (event.seq !== this.#next) continue;
      fresh.push(event);
      this.#next += 1;
      this.#isEnded = endsRun(event.payload);
    }
    return fresh;
  }

  isBehind(events: readonly StreamEvent[]): boolean {
    return events.at(-1)!.seq >= this.#next;
  }
}
