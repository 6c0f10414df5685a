/**
 * Server-sent events, after the WHATWG HTML standard, section 9.2.6. Lines end with LF, CR or CRLF; a blank line
 * ends an event; the `data` lines of an event are joined with LF. One difference: an event that the end of the
 * body cuts off is still given, marked, because some servers leave out the last blank line.
 */

export interface SseEvent {
  /** The `event` field; empty where there is none. */
  readonly name: string;
  readonly data: string;
  /** False where the body ended before the blank line: the data may be a part. */
  readonly terminated: boolean;
}

/** UTF-16 units of one event. An image that comes in one event stays below it. */
export const MAX_EVENT_LENGTH = 64 * 1024 * 1024;

/**
 * Text in any pieces → events. Time is linear in the text, and no more than one event is held. An event longer
 * than the bound ends the reading: `overflowed` is true, and nothing more comes out.
 */
export class SseParser {
  readonly #maxEventLength: number;
  /** Pieces of a line whose end has not come. */
  #line: string[] = [];
  #data: string[] = [];
  #name = '';
  /** Of the pieces and the data lines together. */
  #length = 0;
  #atStart = true;
  /** The last piece ended with CR: an LF that follows belongs to it. */
  #afterCarriageReturn = false;
  #overflowed = false;

  constructor(maxEventLength: number = MAX_EVENT_LENGTH) {
    this.#maxEventLength = maxEventLength;
  }

  get overflowed(): boolean {
    return this.#overflowed;
  }

  push(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    let from = this.#skip(text);
    const lineEnd = /\r\n|\n|\r/g;
    lineEnd.lastIndex = from;
    for (let match = lineEnd.exec(text); match !== null && !this.#overflowed; match = lineEnd.exec(text)) {
      this.#hold(text.slice(from, match.index));
      this.#endLine(events);
      from = lineEnd.lastIndex;
    }
    if (from < text.length) this.#hold(text.slice(from));
    if (text !== '') this.#afterCarriageReturn = text.endsWith('\r');
    return events;
  }

  /** The body has ended: what is left of it. */
  end(): SseEvent[] {
    const events: SseEvent[] = [];
    if (this.#line.length > 0) this.#endLine(events);
    this.#dispatch(events, false);
    return events;
  }

  /** What of a piece belongs to what came before: a byte order mark at the start, the LF of a CRLF. */
  #skip(text: string): number {
    if (text === '') return 0;
    const first = text[0];
    const skipped = (this.#atStart && first === '\ufeff') || (this.#afterCarriageReturn && first === '\n');
    this.#atStart = false;
    return skipped ? 1 : 0;
  }

  #hold(piece: string): void {
    if (piece === '' || this.#overflowed) return;
    this.#length += piece.length;
    if (this.#length > this.#maxEventLength) this.#overflow();
    else this.#line.push(piece);
  }

  #overflow(): void {
    this.#overflowed = true;
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
