import { openSync } from 'node:fs';
import { ReadStream, WriteStream } from 'node:tty';
import { hasTerminal } from '../terminal/screen.js';
import type { Descriptors } from './editor.js';

/** An interactive terminal: shows questions and reads keys. */
export interface QuestionTerminal {
  write(text: string): void;
  /** Reads keys as they are pressed, until `take` returns false. `take` gets undefined when the terminal closes. */
  read(take: (keys: string | undefined) => boolean): void;
  /** The file descriptors of the terminal, for a program that uses it, such as an editor. */
  readonly descriptors: Descriptors;
  /** Restores the terminal. Idempotent. */
  stopReading(): void;
  close(): void;
}

export interface TerminalOptions {
  /** True if stdin carries data. Keys must then come from the terminal's own device. */
  stdinIsTaken: boolean;
  /** True if stdout carries data. Questions must then not go to stdout. */
  stdoutIsTaken: boolean;
}

/** The terminal of this process; undefined if no terminal can show questions and read keys. */
export function openQuestionTerminal({ stdinIsTaken, stdoutIsTaken }: TerminalOptions): QuestionTerminal | undefined {
  if (!hasTerminal()) return undefined;
  const input = !stdinIsTaken && process.stdin.isTTY ? { stream: process.stdin, file: 0 } : openKeyboard();
  if (input === undefined) return undefined;
  const output = openOutput(stdoutIsTaken);
  if (output === undefined) return undefined;
  return new KeyTerminal(input.stream, output.stream, { input: input.file, output: output.file });
}

function openOutput(stdoutIsTaken: boolean): OpenedStream<WriteStream> | undefined {
  if (process.stderr.isTTY) return { stream: process.stderr, file: 2 };
  return stdoutIsTaken ? openDisplay() : { stream: process.stdout, file: 1 };
}

interface OpenedStream<Stream> {
  stream: Stream;
  file: number;
}

/** A terminal in raw mode only while keys are read. Between questions, Ctrl-C sends a signal as usual. */
class KeyTerminal implements QuestionTerminal {
  readonly descriptors: Descriptors;
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  #take: ((keys: string | undefined) => boolean) | undefined;
  readonly #onData = (data: Buffer | string) => this.#press(data.toString());
  readonly #onEnd = () => this.#press(undefined);
  readonly #restore = () => this.stopReading();

  constructor(input: ReadStream, output: WriteStream, descriptors: Descriptors) {
    this.descriptors = descriptors;
    this.#input = input;
    this.#output = output;
    input.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onEnd).pause();
    process.once('exit', this.#restore);
  }

  write(text: string): void {
    this.#output.write(text);
  }

  read(take: (keys: string | undefined) => boolean): void {
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

  #press(keys: string | undefined): void {
    if (this.#take?.(keys) === false) this.stopReading();
  }

  /** Sets or ends raw mode. If the terminal has been closed, pauses the input instead. */
  #setRawMode(isRaw: boolean): void {
    try {
      this.#input.setRawMode(isRaw);
    } catch {
      this.#input.pause();
    }
  }
}

function openKeyboard(): OpenedStream<ReadStream> | undefined {
  try {
    const file = openSync(process.platform === 'win32' ? String.raw`\\.\CONIN$` : '/dev/tty', 'r+');
    return { stream: new ReadStream(file), file };
  } catch {
    return undefined;
  }
}

function openDisplay(): OpenedStream<WriteStream> | undefined {
  try {
    const file = openSync(process.platform === 'win32' ? String.raw`\\.\CONOUT$` : '/dev/tty', 'w');
    return { stream: new WriteStream(file), file };
  } catch {
    return undefined;
  }
}
