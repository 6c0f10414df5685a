/**
 * Server-sent events as defined in the WHATWG HTML standard, section 9.2.6. Lines end with LF, CR or CRLF; a blank line
 * ends an event; the `data` lines of an event are joined with LF. One difference: an event that the end of the body
 * truncates is still emitted and marked as unterminated, because some servers omit the last blank line.
 */

export interface SseEvent {
  /** The `event` field; empty if there is none. */
  readonly name: string;
  readonly data: string;
  /** False if the body ended before the blank line: the data may be truncated. */
  readonly terminated: boolean;
}

/** Maximum length of one event in UTF-16 units, which leaves room for an image. */
export const MAX_EVENT_LENGTH = 64 * 1024 * 1024;

/**
 * Turns text chunks into events. Takes linear time and holds at most one event. An event above the maximum ends the
 * reading: `hasOverflowed` is true, and no more events are emitted.
 */
export class SseParser {
  readonly #maxEventLength: number;
  /** Chunks of an unfinished line. */
  #line: string[] = [];
  #data: string[] = [];
  #name = '';
  /** Total length of the chunks and the data lines. */
  #length = 0;
  #atStart = true;
  /** True if the last chunk ended with CR. A following LF then belongs to the same line ending. */
  #afterCarriageReturn = false;
  #hasOverflowed = false;

  constructor(maxEventLength: number = MAX_EVENT_LENGTH) {
    this.#maxEventLength = maxEventLength;
  }

  get hasOverflowed(): boolean {
    return this.#hasOverflowed;
  }

  push(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    let from = this.#skip(text);
    const lineEnd = /\r\n|\n|\r/g;
    lineEnd.lastIndex = from;
    for (let match = lineEnd.exec(text); match !== null && !this.#hasOverflowed; match = lineEnd.exec(text)) {
      this.#hold(text.slice(from, match.index));
      this.#endLine(events);
      from = lineEnd.lastIndex;
    }
    if (from < text.length) this.#hold(text.slice(from));
    if (text !== '') this.#afterCarriageReturn = text.endsWith('\r');
    return events;
  }

  /** Ends the body and returns the remaining events. */
  end(): SseEvent[] {
    const events: SseEvent[] = [];
    if (this.#line.length > 0) this.#endLine(events);
    this.#dispatch(events, false);
    return events;
  }

  /** Returns the length of the prefix to skip: a byte order mark at the start, or the LF of a CRLF. */
  #skip(text: string): number {
    if (text === '') return 0;
    const first = text[0];
    const skipped = (this.#atStart && first === '\ufeff') || (this.#afterCarriageReturn && first === '\n');
    this.#atStart = false;
    return skipped ? 1 : 0;
  }

  #hold(piece: string): void {
    if (piece === '' || this.#hasOverflowed) return;
    this.#length += piece.length;
    if (this.#length > this.#maxEventLength) this.#overflow();
    else this.#line.push(piece);
  }

  #overflow(): void {
    this.#hasOverflowed = true;
    this.#line = [];
    this.#data = [];
  }

  #endLine(events: SseEvent[]): void {
    const line = this.#line.length === 1 ? this.#line[0]! : this.#line.join('');
    this.#line = [];
    if (line === '') return this.#dispatch(events, true);
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else this.#length -= line.length;
    if (field === 'event') this.#name = value;
  }

  #dispatch(events: SseEvent[], terminated: boolean): void {
    if (this.#data.length > 0) events.push({ name: this.#name, data: this.#data.join('\n'), terminated });
    this.#data = [];
    this.#name = '';
    this.#length = 0;
  }
}
