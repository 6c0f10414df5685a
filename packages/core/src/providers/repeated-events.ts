/**
 * Finds the events of a stream that came twice. An event that equals the one before it is a repeat, and its decoder
 * says whether that means something: two equal pieces of text do. A stream whose very first event comes twice says
 * each event twice, pieces of text too, until an event comes alone:
 *
 *   first ──the same again──▶ doubled ──an event comes alone──▶ plain
 *     └──────another event──────────────────────────────────────▶
 */
export class RepeatedEvents {
  #state: 'first' | 'doubled' | 'plain' = 'first';
  #previous: string | undefined;
  /** The newest event came alone so far. */
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
