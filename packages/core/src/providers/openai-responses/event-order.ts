import { wireCount } from '../wire-values.js';

/** The number of events whose numbers must rise by one before a gap counts: some servers number every event 0. */
const PROVEN = 3;

/**
 * Finds gaps and repetitions in the order of events by their `sequence_number`:
 *
 *   unproven ──3 numbers that rise by one──▶ counting ──a rise by more than one──▶ gap
 */
export class EventOrder {
  #next = 0;
  #rises = 0;

  /** Whether the numbers of the events show that they form one answer. */
  get isProven(): boolean {
    return this.#rises >= PROVEN;
  }

  /** `isFirst`: the event begins an answer, and with it a new count. Events without a number are always in place. */
  read(value: unknown, isFirst: boolean): 'in place' | 'earlier' | 'gap' {
    const number = wireCount(value);
    if (number === undefined) return 'in place';
    const rises = !isFirst && number === this.#next;
    if (!isFirst && !rises && this.isProven) return number < this.#next ? 'earlier' : 'gap';
    this.#rises = rises ? this.#rises + 1 : 0;
    this.#next = number + 1;
    return 'in place';
  }
}
