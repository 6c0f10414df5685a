import { GrowingText } from './detect-growing-text.js';

/** Longer beginnings of a line are never a line's head. */
const LONGEST_HEAD = 64;

const NEWLINE = 0x0a;
const BACKSLASH = 0x5c;

/** By character code, below 128. */
const IS_HEAD_CHARACTER: readonly boolean[] = Array.from({ length: 128 }, (_, code) =>
  ' \t\r0123456789.)-*+'.includes(String.fromCharCode(code)),
);
const BYTE_ORDER_MARK = 0xfeff;

/**
 * The part of an answer that is being looked at: the newest chunk, what was kept from before it, and how
 * its line began. Positions count from the answer's beginning, indexes from the chunk's.
 *
 * A scanner that cannot decide yet leaves `index` at the undecided character; that character and what
 * follows it are scanned again together with the next delta. What may be wanted later is kept with
 * `park(keepFrom)`; nothing reads the kept text until a `rewind` or `between` needs it, so appending costs
 * the same whatever its length.
 */
export class AnswerWindow {
  chunk = '';
  index = 0;
  /** The chunk is the end of the answer. */
  isLast = false;
  /** How many characters were looked at more than once. */
  rescanned = 0;

  private chunkStart = 0;
  private carry = '';
  private readonly kept = new GrowingText();
  private keptStart = 0;
  // How the text before `lineFloor` ends: the line's head there, and whether an odd run of backslashes.
  private lineFloor = 0;
  private lineHead: string | undefined = '';
  private escapes = false;

  get isCarrying(): boolean {
    return this.carry !== '';
  }

  get position(): number {
    return this.chunkStart + this.index;
  }

  positionOf(index: number): number {
    return this.chunkStart + index;
  }

  load(delta: string, isLast: boolean): void {
    this.chunk = this.carry === '' ? delta : this.carry + delta;
    this.rescanned += this.carry.length;
    this.index = 0;
    this.isLast = isLast;
  }

  /** Ends the work on a chunk at `index`. Text from the position `keepFrom` on stays within reach. */
  park(keepFrom: number | undefined): void {
    const { chunk, index } = this;
    this.leaveLine(chunk, index);
    this.carry = index === chunk.length ? '' : chunk.slice(index);
    this.keep(keepFrom);
    this.chunkStart += index;
    this.chunk = '';
    this.index = 0;
  }

  /** Passes over a whole delta in which nothing can begin. */
  pass(delta: string): void {
    this.leaveLine(delta, delta.length);
    this.chunkStart += delta.length;
  }

  between(from: number, to: number): string {
    const { chunk, chunkStart } = this;
    if (from >= chunkStart) return chunk.slice(from - chunkStart, to - chunkStart);
    const keptText = this.kept.toString().slice(from - this.keptStart, to - this.keptStart);
    return to > chunkStart ? keptText + chunk.slice(0, to - chunkStart) : keptText;
  }

  /** Goes back to a kept position, which counts as the middle of a line. */
  rewind(position: number): void {
    this.rescanned += this.position - position;
    if (position < this.chunkStart) {
      this.chunk = this.kept.toString().slice(position - this.keptStart) + this.chunk;
      this.chunkStart = position;
      this.kept.clear();
    }
    this.index = position - this.chunkStart;
    this.breakLine(undefined);
  }

  /** Says how the line at `index` begins, whatever stands before it. */
  breakLine(head: string | undefined): void {
    this.lineFloor = this.index;
    this.lineHead = head;
    this.escapes = false;
  }

  /**
   * What stands before `index` on its line, when that is short and made of white space, digits and list
   * markers only.
   */
  headBefore(index: number): string | undefined {
    return this.headIn(this.chunk, index);
  }

  /** Whether only white space stands before `index` on its line. */
  isLineStart(index: number): boolean {
    const head = this.headIn(this.chunk, index);
    return head !== undefined && head.trim() === '';
  }

  /** Whether the character at `index` follows an odd number of backslashes. */
  isEscaped(index: number): boolean {
    return this.escapesIn(this.chunk, index);
  }

  private keep(keepFrom: number | undefined): void {
    if (keepFrom === undefined || keepFrom >= this.chunkStart) {
      this.kept.clear();
      this.keptStart = keepFrom ?? 0;
    }
    if (keepFrom === undefined) return;
    this.kept.append(this.chunk.slice(Math.max(keepFrom - this.chunkStart, 0), this.index));
  }

  private leaveLine(text: string, index: number): void {
    this.lineHead = this.headIn(text, index);
    this.escapes = this.escapesIn(text, index);
    this.lineFloor = 0;
  }

  private headIn(text: string, index: number): string | undefined {
    const floor = Math.max(this.lineFloor, index - LONGEST_HEAD - 1);
    let start = index;
    while (start > floor) {
      const character = text.charCodeAt(start - 1);
      if (character === NEWLINE) return text.slice(start, index);
      if (IS_HEAD_CHARACTER[character] !== true && character !== BYTE_ORDER_MARK) return undefined;
      start -= 1;
    }
    if (start > this.lineFloor || this.lineHead === undefined) return undefined;
    const head = this.lineHead + text.slice(start, index);
    return head.length > LONGEST_HEAD ? undefined : head;
  }

  private escapesIn(text: string, index: number): boolean {
    let start = index;
    while (start > this.lineFloor && text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
    const isOdd = (index - start) % 2 === 1;
    return start === this.lineFloor ? isOdd !== this.escapes : isOdd;
  }
}
