import type { Client, StreamEvent } from '@toolscript/client';
import { RunFold } from '../view/run-fold.ts';
import type { RunView } from '../view/types.ts';
import { Store } from './store.ts';

export interface RunState {
  readonly view: RunView;
  /** Grows in place. */
  readonly events: readonly StreamEvent[];
  readonly connection: 'connecting' | 'live' | 'retrying' | 'ended' | 'failed';
  readonly error?: unknown;
}

/** Changes that arrive within this time are shown together, in ms. */
const GATHER_MS = 16;

/** The events of one run, folded into what the page shows, until the run has ended or the feed is stopped. */
export class RunFeed {
  readonly runId: string;
  readonly store: Store<RunState>;
  readonly #client: Client;
  #stop = new AbortController();
  #isPaused = false;
  readonly #fold = new RunFold();
  readonly #events: StreamEvent[] = [];
  readonly #onEvent: (event: StreamEvent) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #connection: RunState['connection'] = 'connecting';
  #error: unknown;

  /** `onEvent` is called for each event. */
  constructor(client: Client, runId: string, onEvent: (event: StreamEvent) => void) {
    this.#client = client;
    this.runId = runId;
    this.#onEvent = onEvent;
    this.store = new Store<RunState>({ view: this.#fold.view(), events: [], connection: 'connecting' });
  }

  /** Reads the events after those that have arrived. */
  async start(): Promise<void> {
    const { signal } = this.#stop;
    try {
      const options = { signal, from: this.#events.length, onRetry: () => this.#connect('retrying') };
      for await (const event of this.#client.stream(this.runId, options)) {
        this.#fold.apply(event);
        this.#events.push(event);
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
    clearTimeout(this.#timer);
  }

  /** Closes the connection. A browser has few of them for one server, and they are for tabs that are visible. */
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
    this.#timer ??= setTimeout(() => this.#publish(), GATHER_MS);
  }

  #publish(): void {
    this.#timer = undefined;
    this.store.set({
      view: this.#fold.view(),
      events: this.#events,
      connection: this.#connection,
      ...(this.#error === undefined ? {} : { error: this.#error }),
    });
  }
}
