import type { Operation, Settlement } from '../protocol/index.js';
import type { CallIntent, EndedCall } from '../tools/index.js';
import type { ScriptJournal } from './journal.js';
import type { ScriptTape } from './tape.js';

/**
 * Writes a script's calls to its journal: each intent to start one, how it ended, and what was delivered to the
 * guest. A call has an answer for the guest and its own end. They usually coincide; a call that was aborted is
 * answered before it has ended, and a detached task may end long after the script.
 */
export class CallJournal {
  readonly #journal: ScriptJournal;
  readonly #tape: ScriptTape;
  readonly #onFailure: (error: unknown) => void;
  /** Calls whose ends must be stored in case of a crash: those with effects, and detached tasks. */
  readonly #awaited = new Set<number>();
  /** Answers of calls that have not ended: delivered ones, and ones that will never be delivered. */
  readonly #answers = new Map<number, Settlement>();
  /** The ends of calls, until their answers are delivered. */
  readonly #ends = new Map<number, EndedCall>();
  #writtenCalls: number;

  /** `onFailure`: called if a write that nothing awaits fails. */
  constructor(journal: ScriptJournal, tape: ScriptTape, onFailure: (error: unknown) => void) {
    this.#journal = journal;
    this.#tape = tape;
    this.#onFailure = onFailure;
    this.#writtenCalls = tape.callCount;
  }

  /** Marks that the end of this call will be written. */
  awaitEnd(callIndex: number): void {
    if (this.#journal.isStored) this.#awaited.add(callIndex);
  }

  /** Called before a call is executed. If it throws or rejects, the call is not made. */
  intended(intent: CallIntent): void | Promise<void> {
    if (intent.operation.effect !== 'read') this.#awaited.add(intent.callIndex);
    return this.#journal.intended(intent);
  }

  ended(callIndex: number, operation: Operation): void {
    if (!this.#journal.isStored) return;
    this.#ends.set(callIndex, { callIndex, operation });
    const answer = this.#answers.get(callIndex);
    if (answer !== undefined) this.answered(answer);
  }

  /**
   * Stores an answer that cannot be delivered now, or ever. If the process ends first, calls that only read are
   * repeated.
   */
  answered(answer: Settlement): void {
    const { callIndex } = answer;
    if (!this.#awaited.has(callIndex)) return;
    const end = this.#ends.get(callIndex);
    if (end === undefined) {
      this.#answers.set(callIndex, answer);
      return;
    }
    this.#answers.delete(callIndex);
    this.#awaited.delete(callIndex);
    this.#write(() => this.#journal.finished(end, answer));
  }

  /** Called before a delivery. Throws or rejects if the write failed. */
  delivered(clockMs: number, settlements: readonly Settlement[]): void | Promise<void> {
    if (!this.#journal.isStored) return undefined;
    const ended = settlements.flatMap((settlement) => this.#endOf(settlement) ?? []);
    return this.#journal.delivered({ clockMs, calls: this.#newCalls(), settlements, ended });
  }

  /** Writes the calls that the script made between the last delivery and its suspension. */
  suspended(): void {
    this.#journal.made(this.#newCalls());
  }

  #endOf(settlement: Settlement): EndedCall | undefined {
    const { callIndex } = settlement;
    const end = this.#ends.get(callIndex);
    this.#ends.delete(callIndex);
    if (end !== undefined) this.#awaited.delete(callIndex);
    else if (this.#awaited.has(callIndex)) this.#answers.set(callIndex, settlement);
    return end;
  }

  #newCalls() {
    const calls = this.#tape.callsFrom(this.#writtenCalls);
    this.#writtenCalls += calls.length;
    return calls;
  }

  #write(write: () => void | Promise<void>): void {
    try {
      write()?.catch((error: unknown) => this.#onFailure(error));
    } catch (error) {
      this.#onFailure(error);
    }
  }
}

/** Maximum characters of results that go to the guest at once; the rest follows in the next batch. */
const MAX_BATCH_UNITS = 4_194_304;

/** The results of calls, until they are delivered to the guest. */
export class SettlementQueue {
  #settlements: Settlement[];

  constructor(earlier: readonly Settlement[] = []) {
    this.#settlements = [...earlier];
  }

  get isEmpty(): boolean {
    return this.#settlements.length === 0;
  }

  add(settlement: Settlement): void {
    this.#settlements.push(settlement);
  }

  callIndexes(): Set<number> {
    return new Set(this.#settlements.map(({ callIndex }) => callIndex));
  }

  /** The first results, as many as may go at once. */
  takeBatch(): Settlement[] {
    let units = 0;
    let count = 0;
    for (const settlement of this.#settlements) {
      if (count > 0 && units > MAX_BATCH_UNITS) break;
      units += settlement.ok ? settlement.json.length : settlement.error.message.length;
      count++;
    }
    if (count < this.#settlements.length) return this.#settlements.splice(0, count);
    const all = this.#settlements;
    this.#settlements = [];
    return all;
  }
}

/** The index at the end of a call's id. */
export function callIndexOf(callId: string): number {
  return Number(callId.slice(callId.lastIndexOf('_') + 1));
}
