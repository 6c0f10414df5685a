import { EXIT } from './exit-status.js';
import { stdoutFailure } from './usage-error.js';

const SIGNAL_STATUS: Readonly<Partial<Record<NodeJS.Signals, number>>> = {
  SIGINT: EXIT.interrupted,
  SIGTERM: 143,
  SIGHUP: EXIT.hungUp,
};

/** The maximum time in ms for suspending a script that waits for the user. The run is aborted after this time. */
const PATIENCE_MS = 3_000;

/**
 * Signals within this time, in ms, count as one signal: the terminal, the shell and a parent process may each send it.
 */
const SAME_SIGNAL_MS = 200;

/** Receives the steps of an interruption before the run ends. */
export interface InterruptionListener {
  /** Suspends a script that only waits for the user. Returns false if no script waits for the user. */
  suspend(): boolean;
  /** Called before the run is aborted. */
  beforeAbort(): void;
}

/**
 * Ends a run after a signal, such as Ctrl-C, or after writing to stdout has failed. A script that waits for the user is
 * suspended; otherwise the run is aborted, and reports its completed work. At a second signal other than SIGHUP, after
 * SAME_SIGNAL_MS, the process exits at once.
 */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals) => this.interrupt(SIGNAL_STATUS[signal]);
  readonly #onOutputError = (error: NodeJS.ErrnoException) => this.#loseOutput(error);
  #status: number | undefined;
  #sinceMs = 0;
  #listener: InterruptionListener | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    for (const signal of Object.keys(SIGNAL_STATUS)) process.on(signal, this.#onSignal);
    process.stdout.on('error', this.#onOutputError);
    process.stderr.on('error', () => {});
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit status; undefined if nothing has interrupted the run. */
  get status(): number | undefined {
    return this.#status;
  }

  listen(listener: InterruptionListener): void {
    this.#listener = listener;
  }

  interrupt(status: number = EXIT.interrupted): void {
    if (this.#status === undefined) return this.#end(status);
    if (performance.now() - this.#sinceMs > SAME_SIGNAL_MS && status !== SIGNAL_STATUS.SIGHUP) process.exit(status);
  }

  /** Removes the signal listeners. The listener for output errors stays, because the last write may still fail. */
  dispose(): void {
    clearTimeout(this.#timer);
    for (const signal of Object.keys(SIGNAL_STATUS)) process.off(signal, this.#onSignal);
  }

  #end(status: number): void {
    this.#status = status;
    this.#sinceMs = performance.now();
    if (this.#listener?.suspend() === true) this.#timer = setTimeout(() => this.#abort(), PATIENCE_MS);
    else this.#abort();
  }

  #abort(): void {
    this.#listener?.beforeAbort();
    this.#controller.abort();
  }

  #loseOutput(error: NodeJS.ErrnoException): void {
    if (this.#status !== undefined) return;
    // A closed terminal can cause EIO before SIGHUP arrives.
    const isGone = error.code === 'EPIPE' || error.code === 'EIO';
    if (!isGone) process.stderr.write(stdoutFailure(error));
    this.#end(error.code === 'EPIPE' ? EXIT.brokenPipe : EXIT.failed);
  }
}
