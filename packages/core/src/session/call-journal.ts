import type { Operation, Settlement } from '../protocol/index.js';
import type { EndedCall } from '../tools/index.js';
import type { ScriptJournal } from './journal.js';
import type { ScriptTape } from './tape.js';

/** What a session writes to its script's journal about the calls: how they ended, and what the guest was told. */
export class CallJournal {
  readonly #journal: ScriptJournal;
  readonly #tape: ScriptTape;
  readonly #onFailure: (error: unknown) => void;
  /** How calls ended, until that is delivered. */
  readonly #ended = new Map<number, EndedCall>();
  #writtenCalls: number;

  /** `onFailure`: told of what is written without being awaited. */
  constructor(journal: ScriptJournal, tape: ScriptTape, onFailure: (error: unknown) => void) {
    this.#journal = journal;
    this.#tape = tape;
    this.#onFailure = onFailure;
    this.#writtenCalls = tape.callCount;
  }

  ended(callIndex: number, operation: Operation): void {
    if (this.#journal.isKept) this.#ended.set(callIndex, { callIndex, operation });
  }

  /** A settlement that cannot be delivered now. What only reads is made again where the process ends first. */
  finished(settlement: Settlement): void {
    const ended = this.#ended.get(settlement.callIndex);
    if (ended === undefined || ended.operation.effect === 'read') return;
    try {
      const written = this.#journal.finished(ended, settlement);
      written?.catch((error: unknown) => this.#onFailure(error));
    } catch (error) {
      this.#onFailure(error);
    }
  }

  /** Before the guest is told. Throws or rejects where that could not be written. */
  delivered(clockMs: number, settlements: readonly Settlement[]): void | Promise<void> {
    if (!this.#journal.isKept) return undefined;
    const ended = settlements.flatMap(({ callIndex }) => this.#ended.get(callIndex) ?? []);
    for (const { callIndex } of ended) this.#ended.delete(callIndex);
    return this.#journal.delivered({ clockMs, calls: this.#newCalls(), settlements, ended });
  }

  /** The script is suspended: the calls that it made since the last delivery. */
  suspended(): void {
    this.#journal.made(this.#newCalls());
  }

  #newCalls() {
    const calls = this.#tape.callsFrom(this.#writtenCalls);
    this.#writtenCalls += calls.length;
    return calls;
  }
}
