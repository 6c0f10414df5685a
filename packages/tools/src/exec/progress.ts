import { StringDecoder } from 'node:string_decoder';
import { visible } from '../files/path-rules.js';

const EVERY_MS = 500;
const MAX_LINE = 200;

/**
 * Reports the latest line of a command's output, at most twice a second, without terminal control sequences. `finish`
 * stops the reports.
 */
export class OutputProgress {
  readonly #report: (line: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  #line = '';
  #latest = '';
  #reportedText = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  push(chunk: Buffer): void {
    // A large chunk ends with the latest line, so its start can be dropped.
    const text = this.#line + this.#decoder.write(chunk.subarray(-4096));
    const lines = text.split(/[\r\n]+/);
    this.#line = lines.at(-1)!.slice(-MAX_LINE * 4);
    this.#latest = lines.findLast((line) => line.trim() !== '') ?? this.#latest;
    this.#timer ??= setTimeout(() => this.#flush(), EVERY_MS);
  }

  finish(): void {
    clearTimeout(this.#timer);
  }

  #flush(): void {
    this.#timer = undefined;
    const line = visible(this.#latest.trim()).slice(0, MAX_LINE);
    if (line === '' || line === this.#reportedText) return;
    this.#reportedText = line;
    this.#report(line);
  }
}
