import type { WireEvent } from './body.js';

/** Decodes one answer of one wire format: a state machine that reads wire messages and calls an AnswerWriter. */
export interface WireDecoder {
  /**
   * Whether an event that equals the previous one has a meaning of its own: two text deltas may be equal. Otherwise the
   * event is skipped.
   */
  mayRepeat(event: Extract<WireEvent, { type: 'event' }>): boolean;
  /** Reads one event of the stream. Never throws. */
  read(event: Extract<WireEvent, { type: 'event' }>): void;
  /** Reads an answer that arrived as one JSON value. */
  readWhole(data: unknown): void;
  /** Called when the stream has sent `[DONE]`. */
  readDoneMarker(): void;
  /**
   * Called when the body has ended. A decoder that has a complete answer ends it; any other answer counts as truncated.
   */
  readEnd(): void;
  /**
   * Called when the answer ends early: its body was interrupted or truncated, or the caller stopped. Complete items end
   * as done even without their end marker.
   */
  readBreak?(): void;
}
