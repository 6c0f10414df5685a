import { openSync } from 'node:fs';
import { ReadStream, WriteStream } from 'node:tty';

/** A terminal that a person sits at: where questions are put and keys are read. */
export interface QuestionTerminal {
  write(text: string): void;
  /** Reads keys as they are pressed, until the answer to `take` is false or the terminal is closed. */
  read(take: (keys: string) => boolean): void;
  /** Gives the terminal back as it was. Idempotent. */
  stopReading(): void;
  close(): void;
}

export interface TerminalWishes {
  /** Stdin carries the answer, so keys must come from the terminal itself. */
  stdinIsTaken: boolean;
  /** Stdout carries data, so questions must not go there. */
  stdoutIsTaken: boolean;
}

/** The terminal of this process; undefined where there is none to ask at. */
export function openQuestionTerminal({ stdinIsTaken, stdoutIsTaken }: TerminalWishes): QuestionTerminal | undefined {
  if (!process.stdout.isTTY && !process.stderr.isTTY) return undefined;
  const input = !stdinIsTaken && process.stdin.isTTY ? process.stdin : openKeyboard();
  if (input === undefined) return undefined;
  const output = process.stderr.isTTY ? process.stderr : stdoutIsTaken ? openDisplay() : process.stdout;
  return output === undefined ? undefined : new KeyTerminal(input, output);
}

/** What the end of input stands for: a person who is gone presses nothing else. */
const END_OF_INPUT = '\x04';

/** Raw mode is on only while keys are read: between questions Ctrl-C is a signal as usual. */
class KeyTerminal implements QuestionTerminal {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  #take: ((keys: string) => boolean) | undefined;
  readonly #onData = (data: Buffer | string) => this.#press(data.toString());
  readonly #onEnd = () => this.#press(END_OF_INPUT);
  readonly #restore = () => this.stopReading();

  constructor(input: ReadStream, output: WriteStream) {
    this.#input = input;
    this.#output = output;
    input.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onEnd).pause();
    process.once('exit', this.#restore);
  }

  write(text: string): void {
    this.#output.write(text);
  }

  read(take: (keys: string) => boolean): void {
    this.#take = take;
    this.#setRawMode(true);
    this.#input.ref();
    this.#input.resume();
  }

  stopReading(): void {
    if (this.#take === undefined) return;
    this.#take = undefined;
    this.#input.pause();
    this.#input.unref();
    this.#setRawMode(false);
  }

  close(): void {
    this.stopReading();
    process.off('exit', this.#restore);
    this.#input.off('data', this.#onData).off('end', this.#onEnd);
    if (this.#input !== process.stdin) this.#input.destroy();
  }

  #press(keys: string): void {
    if (this.#take?.(keys) === false) this.stopReading();
  }

  /** A terminal that was closed meanwhile has no mode to set. */
  #setRawMode(isRaw: boolean): void {
    try {
      this.#input.setRawMode(isRaw);
    } catch {
      this.#input.pause();
    }
  }
}

function openKeyboard(): ReadStream | undefined {
  try {
    return new ReadStream(openSync(process.platform === 'win32' ? String.raw`\\.\CONIN$` : '/dev/tty', 'r+'));
  } catch {
    return undefined;
  }
}

function openDisplay(): WriteStream | undefined {
  try {
    return new WriteStream(openSync(process.platform === 'win32' ? String.raw`\\.\CONOUT$` : '/dev/tty', 'w'));
  } catch {
    return undefined;
  }
}
