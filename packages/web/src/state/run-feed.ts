import type { Client, StreamEvent } from '@toolscript/client';
import { RunFold } from '../view/run-fold.ts';
import type { RunView } from '../view/types.ts';
import { beforeNextFrame } from './before-next-frame.ts';
import { Store } from './store.ts';

export interface RunState {
  readonly view: RunView;
  readonly turnId?: string | undefined;
  readonly connection: 'connecting' | 'live' | 'retrying' | 'ended' | 'failed';
  readonly error?: unknown;
}

/**
 * If rendering the changes takes longer than this, in ms, the page waits as long as the rendering took, but at most
 * `MAX_REST_MS`, before it renders the next changes.
 */
const QUICK_MS = 45;
const MAX_REST_MS = 100;

/** Folds the events of one run into the state that the page shows, until the run has ended or the feed is stopped. */
export class RunFeed {
  readonly runId: string;
  readonly store: Store<RunState>;
  readonly #client: Client;
  #stop = new AbortController();
  #isPaused = false;
  readonly #fold = new RunFold();
  readonly #onEvent: (event: StreamEvent) => void;
  #receivedCount = 0;
  #turnId: string | undefined;
  #cancelPublish: (() => void) | undefined;
  #restsUntil = 0;
  #connection: RunState['connection'] = 'connecting';
  #error: unknown;

  /** `onEvent` is called for each event. */
  constructor(client: Client, runId: string, onEvent: (event: StreamEvent) => void) {
    this.#client = client;
    this.runId = runId;
    this.#onEvent = onEvent;
    this.store = new Store<RunState>({ view: this.#fold.view(), connection: 'connecting' });
  }

  /** Reads the events after those that have arrived. */
  async start(): Promise<void> {
    const { signal } = this.#stop;
    try {
      const options = { signal, from: this.#receivedCount, onRetry: () => this.#connect('retrying') };
      for await (const event of this.#client.stream(this.runId, options)) {
        this.#fold.apply(event);
        this.#receivedCount += 1;
        this.#turnId ??= event.turn_id;
        this.#onEvent(event);
        this.#connect('live');
      }
      if (!signal.aborted) this.#connect('ended');
    } catch (error) {
      this.#error = error;
      this.#connect('failed');
    }
  }

  stop(): void {
    this.#stop.abort();
    this.#cancelPublish?.();
  }

  /** All events so far, read from the server: the page stores only the folded state. */
  readonly readEvents = async (signal: AbortSignal): Promise<readonly StreamEvent[]> => {
    const events: StreamEvent[] = [];
    for await (const event of this.#client.stream(this.runId, { signal })) {
      events.push(event);
      if (events.length === this.#receivedCount) break;
    }
    return events;
  };

  /**
   * Closes the connection. A browser allows only a few connections to each server, so a hidden tab closes its
   * connection.
   */
  pause(): void {
    if (this.#connection === 'ended' || this.#connection === 'failed') return;
    this.#isPaused = true;
    this.#stop.abort();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#stop = new AbortController();
    void this.start();
  }

  #connect(connection: RunState['connection']): void {
    this.#connection = connection;
    if (this.#stop.signal.aborted) return;
    this.#cancelPublish ??= beforeNextFrame(this.#restsUntil, () => this.#publish());
  }

  #publish(): void {
    this.#cancelPublish = undefined;
    const startedAt = performance.now();
    this.store.set({
      view: this.#fold.view(),
      connection: this.#connection,
      ...(this.#turnId === undefined ? {} : { turnId: this.#turnId }),
      ...(this.#error === undefined ? {} : { error: this.#error }),
    });
    // The page renders before the next task.
    setTimeout(() => {
      const now = performance.now();
      const tookMs = now - startedAt;
      if (tookMs > QUICK_MS) this.#restsUntil = now + Math.min(tookMs, MAX_REST_MS);
    });
  }
}
