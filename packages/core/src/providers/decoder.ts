import type { WireEvent } from './body.js';

/** One answer of one wire format: a state machine that is fed its messages and tells an AnswerWriter. */
export interface WireDecoder {
  /**
   * Whether this event, which equals the one before it, says something of its own: pieces of text may be equal.
   * Otherwise it is not read.
   */
  mayRepeat(event: Extract<WireEvent, { type: 'event' }>): boolean;
  /** One event of the stream. Never throws, whatever the data is. */
  read(event: Extract<WireEvent, { type: 'event' }>): void;
  /** The answer that came as one JSON value. */
  readWhole(data: unknown): void;
  /** The stream said `[DONE]`. */
  readDoneMarker(): void;
  /** The body has ended. A decoder that knows the answer to be whole ends it; it is truncated otherwise. */
  readEnd(): void;
  /** It broke off, or nobody listens any more. What is whole, though the stream did not say so, is ended as such. */
  readBreak?(): void;
}
