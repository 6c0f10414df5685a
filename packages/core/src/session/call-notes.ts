import type { Diagnostic } from '../protocol/index.js';

/** Maximum number of notes, because a script may repeat a mistake in every iteration of a loop. */
const MAX_NOTES = 20;

/**
 * The host's notes about a script's calls at the time of the call. Contains each note once, and no note that the check
 * has reported.
 */
export class CallNotes {
  readonly #known: Set<string>;
  readonly #notes: Diagnostic[];

  /** `checked`: the notes of the check. `earlier`: notes from before the script was suspended. */
  constructor(checked: readonly Diagnostic[], earlier: readonly Diagnostic[] = []) {
    this.#notes = [...earlier];
    this.#known = new Set([...checked, ...earlier].map(({ message }) => message));
  }

  get all(): readonly Diagnostic[] {
    return this.#notes;
  }

  add(note: Diagnostic): void {
    if (this.#notes.length >= MAX_NOTES || this.#known.has(note.message)) return;
    this.#known.add(note.message);
    this.#notes.push(note);
  }
}
