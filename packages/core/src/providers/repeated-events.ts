/**
 * Detects events that a stream sends twice. An event that equals the previous one is a repeat; its decoder decides
 * whether it has a meaning, because two text deltas may be equal. If the very first event comes twice, the stream
 * doubles each event, including text deltas, until an event comes alone:
 *
 *   first ──an equal event──▶ doubled ──an event comes alone──▶ plain
 *     └──────another event──────────────────────────────────────▶
 */
export class RepeatedEvents {
  #state: 'first' | 'doubled' | 'plain' = 'first';
  #previous: string | undefined;
  /** The newest event has come alone so far. */
  #isAlone = false;

  /** `echo`: the second of a pair in a doubled stream. `repeat`: it equals the event before it. */
  read(text: string): 'new' | 'repeat' | 'echo' {
    const isSame = text === this.#previous;
    if (this.#state === 'first' && this.#previous !== undefined) this.#state = isSame ? 'doubled' : 'plain';
    if (this.#state === 'doubled' && this.#isAlone && !isSame) this.#state = 'plain';
    this.#previous = text;
    if (this.#state !== 'doubled') {
      this.#isAlone = true;
      return isSame ? 'repeat' : 'new';
    }
    const isEcho = this.#isAlone;
    this.#isAlone = !isEcho;
    return isEcho ? 'echo' : 'new';
  }
}
