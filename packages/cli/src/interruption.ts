import { EXIT } from './exit-status.js';

const SIGNAL_STATUS: Readonly<Partial<Record<NodeJS.Signals, number>>> = {
  SIGINT: EXIT.interrupted,
  SIGTERM: 143,
  SIGHUP: EXIT.hungUp,
};

/** How long what only waits for a person may take to be put aside, in ms. */
const PATIENCE_MS = 3_000;

/** The system, the shell and a program in between each pass on one and the same signal. */
const SAME_SIGNAL_MS = 200;

/** What an interruption tells before it ends a run. */
export interface InterruptionListener {
  /** Puts aside what only waits for a person. False: there is nothing of that kind. */
  putAside(): boolean;
  /** The run is being ended. */
  beforeAbort(): void;
}

/**
 * What ends a run from outside: a signal (Ctrl-C), or a reader of stdout that went away. Where the script waits for a
 * person, it is put aside; otherwise the run is aborted, and says what it had done. A second one leaves at once.
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

  /** The status to leave with; undefined while nothing has interrupted. */
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

  /** Signals mean what they usually do again. The listener for output errors stays: the last bytes may still fail. */
  dispose(): void {
    clearTimeout(this.#timer);
    for (const signal of Object.keys(SIGNAL_STATUS)) process.off(signal, this.#onSignal);
  }

  #end(status: number): void {
    this.#status = status;
    this.#sinceMs = performance.now();
    if (this.#listener?.putAside() === true) this.#timer = setTimeout(() => this.#abort(), PATIENCE_MS);
    else this.#abort();
  }

  #abort(): void {
    this.#listener?.beforeAbort();
    this.#controller.abort();
  }

  #loseOutput(error: NodeJS.ErrnoException): void {
    if (this.#status !== undefined) return;
    // A terminal that was closed ends input and output before, or after, it sends its signal.
    const isGone = error.code === 'EPIPE' || error.code === 'EIO';
    if (!isGone) process.stderr.write(`toolscript: stdout cannot be written (${error.code ?? error.message}).\n`);
    this.#end(error.code === 'EPIPE' ? EXIT.brokenPipe : EXIT.failed);
  }
}
