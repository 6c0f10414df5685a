import type { WorkSlices } from '../work-slices.js';

const LINE_FEED = 10;
const RETURN = 13;
const MARK = Buffer.from('\uFEFF');

/**
 * The lines of a text, without line ends (LF or CRLF) and byte order mark. A final line end does not start another
 * line. Lines are decoded on demand, because a file may have millions of empty ones.
 */
export class TextLines {
  readonly length: number;
  readonly #bytes: Buffer;
  readonly #starts: Int32Array;

  private constructor(bytes: Buffer, starts: Int32Array, length: number) {
    this.#bytes = bytes;
    this.#starts = starts;
    this.length = length;
  }

  static async of(bytes: Buffer, slices: WorkSlices): Promise<TextLines> {
    let starts = new Int32Array(1_024);
    let count = 0;
    const first = bytes.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0;
    for (let at = first; at < bytes.length; at = afterLine(bytes, at)) {
      if (slices.isDue()) await slices.pass();
      if (count + 1 === starts.length) starts = doubled(starts);
      starts[count] = at;
      count += 1;
    }
    starts[count] = bytes.length;
    return new TextLines(bytes, starts, count);
  }

  at(index: number): string {
    const start = this.#starts[index]!;
    let end = this.#starts[index + 1]!;
    if (end > start && this.#bytes[end - 1] === LINE_FEED) end -= 1;
    if (end > start && this.#bytes[end - 1] === RETURN) end -= 1;
    return end === start ? '' : this.#bytes.toString('utf8', start, end);
  }
}

function afterLine(bytes: Buffer, start: number): number {
  // A fast path for blank lines: searching for the end of each would dominate the cost.
  if (bytes[start] === LINE_FEED) return start + 1;
  const end = bytes.indexOf(LINE_FEED, start);
  return end === -1 ? bytes.length : end + 1;
}

function doubled(starts: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(starts.length * 2);
  larger.set(starts);
  return larger;
}
