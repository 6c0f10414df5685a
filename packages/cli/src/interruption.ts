import { EXIT } from './exit-status.js';

const SIGNAL_STATUS: Readonly<Partial<Record<NodeJS.Signals, number>>> = {
  SIGINT: EXIT.interrupted,
  SIGTERM: 143,
  SIGHUP: 129,
};

/**
 * What ends a run from outside: a signal (Ctrl-C), or a reader of stdout that went away. The first one aborts
 * the run, which then says what it had done; a second one leaves at once.
 */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals) => this.interrupt(SIGNAL_STATUS[signal]);
  readonly #onOutputError = (error: NodeJS.ErrnoException) => this.#loseOutput(error);
  #status: number | undefined;

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

  interrupt(status: number = EXIT.interrupted): void {
    if (this.#status !== undefined) process.exit(status);
    this.#status = status;
    this.#controller.abort();
  }

  /** Signals mean what they usually do again. The listener for output errors stays: the last bytes may still fail. */
  dispose(): void {
    for (const signal of Object.keys(SIGNAL_STATUS)) process.off(signal, this.#onSignal);
  }

  #loseOutput(error: NodeJS.ErrnoException): void {
    if (this.#status !== undefined) return;
    this.#status = error.code === 'EPIPE' ? EXIT.brokenPipe : EXIT.failed;
    if (error.code !== 'EPIPE')
      process.stderr.write(`toolscript: stdout cannot be written (${error.code ?? error.message}).\n`);
    this.#controller.abort();
  }
}
