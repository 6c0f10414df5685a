import { LineReader, type LinePlace } from './line-place.js';

/** Maximum length, in characters, of a line's head: the text before an index on its line. */
const MAX_HEAD = 64;

const NEWLINE = 0x0a;
const BACKSLASH = 0x5c;

/** Whether a character can be in a line's head, by character code below 128. */
const IS_HEAD_CHARACTER: readonly boolean[] = Array.from({ length: 128 }, (_, code) =>
  ' \t\r0123456789.)-*+'.includes(String.fromCharCode(code)),
);
const BYTE_ORDER_MARK = 0xfeff;

/**
 * The part of an answer that is being scanned: the newest chunk, the kept text before the chunk, and the beginning of
 * the chunk's first line. Positions count from the answer's start, indexes from the chunk's.
 *
 * A scanner that cannot decide yet leaves `index` at the undecided character; the scanner reads that character and the
 * text after it again together with the next delta. `park(keepFrom)` keeps text that may be needed later; nothing reads
 * the kept text until a `rewind` or `between` needs it, so appending costs the same for any length.
 */
export class AnswerWindow {
  chunk = '';
  index = 0;
  /** True if the chunk is the end of the answer. */
  isLast = false;
  /** The number of characters that were scanned more than once. */
  rescanned = 0;

  #chunkStart = 0;
  #carry = '';
  readonly #kept = new GrowingText();
  #keptStart = 0;
  // The index before which the window does not read, the line's head before this index, and whether an odd number of
  // backslashes precedes this index.
  #lineFloor = 0;
  #lineHead: string | undefined = '';
  #escapes = false;
  readonly #line = new LineReader();
  // The index before which `line` has read the chunk.
  #lineReadTo = 0;

  get isCarrying(): boolean {
    return this.#carry !== '';
  }

  get position(): number {
    return this.#chunkStart + this.index;
  }

  answerPosition(index: number): number {
    return this.#chunkStart + index;
  }

  load(delta: string, isLast: boolean): void {
    this.chunk = this.#carry === '' ? delta : this.#carry + delta;
    this.rescanned += this.#carry.length;
    this.index = 0;
    this.isLast = isLast;
  }

  /** Ends the work on a chunk at `index`. The window keeps the text from the position `keepFrom` on. */
  park(keepFrom: number | undefined): void {
    const { chunk, index } = this;
    this.#leaveLine(chunk, index);
    this.#carry = index === chunk.length ? '' : chunk.slice(index);
    this.#keep(keepFrom);
    this.#chunkStart += index;
    this.chunk = '';
    this.index = 0;
  }

  /** Skips a whole delta that contains no special character. */
  pass(delta: string): void {
    this.#leaveLine(delta, delta.length);
    this.#chunkStart += delta.length;
  }

  between(from: number, to: number): string {
    const { chunk } = this;
    const chunkStart = this.#chunkStart;
    if (from >= chunkStart) return chunk.slice(from - chunkStart, to - chunkStart);
    const keptText = this.#kept.toString().slice(from - this.#keptStart, to - this.#keptStart);
    return to > chunkStart ? keptText + chunk.slice(0, to - chunkStart) : keptText;
  }

  /** Returns to a kept position, which counts as the middle of a line of the kind `place`. */
  rewind(position: number, place: LinePlace): void {
    this.rescanned += this.position - position;
    if (position < this.#chunkStart) {
      this.chunk = this.#kept.toString().slice(position - this.#keptStart) + this.chunk;
      this.#chunkStart = position;
      this.#kept.clear();
    }
    this.index = position - this.#chunkStart;
    this.breakLine(undefined);
    this.#line.start(place);
  }

  /** Sets the head of the line before `index`, regardless of the text that is there. */
  breakLine(head: string | undefined): void {
    this.#lineFloor = this.index;
    this.#lineHead = head;
    this.#escapes = false;
    this.#line.start('plain');
    this.#lineReadTo = this.index;
  }

  /** The kind of the line up to `index`. The indexes of later calls must not be smaller. */
  placeAt(index: number): LinePlace {
    if (index > this.#lineReadTo) this.#line.read(this.chunk, this.#lineReadTo, index);
    this.#lineReadTo = Math.max(index, this.#lineReadTo);
    return this.#line.place;
  }

  /** The text before `index` on its line, if it is short and contains only white space, digits and list markers. */
  headBefore(index: number): string | undefined {
    return this.#headIn(this.chunk, index);
  }

  /** Whether only white space precedes `index` on its line. */
  isLineStart(index: number): boolean {
    const head = this.#headIn(this.chunk, index);
    return head !== undefined && head.trim() === '';
  }

  /** Whether the character at `index` follows an odd number of backslashes. */
  isEscaped(index: number): boolean {
    return this.#escapesIn(this.chunk, index);
  }

  #keep(keepFrom: number | undefined): void {
    if (keepFrom === undefined || keepFrom >= this.#chunkStart) {
      this.#kept.clear();
      this.#keptStart = keepFrom ?? 0;
    }
    if (keepFrom === undefined) return;
    this.#kept.append(this.chunk.slice(Math.max(keepFrom - this.#chunkStart, 0), this.index));
  }

  #leaveLine(text: string, index: number): void {
    this.#lineHead = this.#headIn(text, index);
    this.#escapes = this.#escapesIn(text, index);
    if (index > this.#lineReadTo) this.#line.read(text, this.#lineReadTo, index);
    this.#lineReadTo = 0;
    this.#lineFloor = 0;
  }

  #headIn(text: string, index: number): string | undefined {
    const floor = Math.max(this.#lineFloor, index - MAX_HEAD - 1);
    let start = index;
    while (start > floor) {
      const character = text.charCodeAt(start - 1);
      if (character === NEWLINE) return text.slice(start, index);
      if (IS_HEAD_CHARACTER[character] !== true && character !== BYTE_ORDER_MARK) return undefined;
      start -= 1;
    }
    if (start > this.#lineFloor || this.#lineHead === undefined) return undefined;
    const head = this.#lineHead + text.slice(start, index);
    return head.length > MAX_HEAD ? undefined : head;
  }

  #escapesIn(text: string, index: number): boolean {
    let start = index;
    while (start > this.#lineFloor && text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
    const isOdd = (index - start) % 2 === 1;
    return start === this.#lineFloor ? isOdd !== this.#escapes : isOdd;
  }
}

/**
 * Maximum length of the tail before it is flattened. A short tail is cheap to flatten and keeps few small strings
 * alive.
 */
const MAX_TAIL = 4096;

/**
 * Text that grows by many small pieces. The engine keeps appended pieces as a tree until the text is read. Flattening
 * the tail regularly keeps that tree small, and reduces the garbage collector's work.
 */
export class GrowingText {
  #whole = '';
  #tail = '';

  get isEmpty(): boolean {
    return this.#whole === '' && this.#tail === '';
  }

  append(piece: string): void {
    this.#tail += piece;
    if (this.#tail.length >= MAX_TAIL) this.#flattenTail();
  }

  clear(): void {
    this.#whole = '';
    this.#tail = '';
  }

  toString(): string {
    if (this.#tail !== '') this.#flattenTail();
    return this.#whole;
  }

  #flattenTail(): void {
    // Reading one character makes the engine flatten the text.
    this.#tail.charCodeAt(0);
    this.#whole += this.#tail;
    this.#tail = '';
  }
}
