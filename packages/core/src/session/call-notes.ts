import type { Diagnostic } from '../protocol/index.js';

/** A script may make the same mistake in every turn of a loop. */
const MAX_NOTES = 20;

/** What the host notes about a script's calls while they are made: each note once, and none that checking has made. */
export class CallNotes {
  readonly #known: Set<string>;
  readonly #notes: Diagnostic[];

  /** `checked`: what checking the script has noted. `earlier`: notes from before the script was suspended. */
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
