import type { Decision, Settlement, Operation, SandboxCall, SandboxEnd } from '../../protocol/index.js';
import { callIdIndex, type OnIntent } from '../facade/index.js';
import type { FollowedTape, TapeFollower } from '../flow/followed-script.js';
import { sha256 } from '../../text/crypto.js';
import type { ScriptStart } from './script-start.js';

/**
 * Stores the data that a later process needs to resume a script: the script's start, each intent before its effect
 * starts, each decision, each settlement before its delivery, and the ends of calls. The order of the entries suffices
 * to replay the script to the same point. Callers await the promises that `decided`, `intended` and `delivered` return.
 */
export interface ScriptJournal {
  /** False if nothing is written; callers need not prepare entries then. */
  readonly isStored: boolean;
  started(start: ScriptStart): void;
  /** Calls `act` once if another process claims the script. This process must then cause no more effects. */
  whenLost(act: (error: unknown) => void): void;
  /** Stores the host's decision about a waiting call. If the method throws or rejects, the decision is not stored. */
  decided(approvalId: string, decision: Decision): void | Promise<void>;
  /** Stores the intent of a call before the call is executed. If the method throws or rejects, the call is not made. */
  intended: OnIntent;
  /** Stores the end of a call with effects or of a detached task while nothing can be delivered to the guest. */
  finished(operation: Operation, settlement: Settlement): void | Promise<void>;
  /** Stores the script, even if it has made no call with effects. */
  keep(): void | Promise<void>;
  /** Stores the calls that a script made between the last delivery and its suspension. */
  made(calls: readonly TapeCall[]): void;
  /** Stores a batch before its delivery to the guest. If the method throws or rejects, the script ends. */
  delivered(delivery: TapeDelivery): void | Promise<void>;
  /**
   * Stops all writes: the script is interrupted at this point, and a later process continues from the stored entries.
   */
  leave(): void;
}

export interface TapeDelivery {
  readonly clockMs: number;
  /** The calls that the script made since the last delivery. */
  readonly calls: readonly TapeCall[];
  readonly settlements: readonly Settlement[];
  /** The operations of the tool calls among the settlements. */
  readonly ended: readonly Operation[];
}

/** Stores nothing, so the script cannot outlive its process. */
export const noopJournal: ScriptJournal = {
  isStored: false,
  started: () => {},
  whenLost: () => {},
  decided: () => {},
  intended: () => {},
  finished: () => {},
  keep: () => {},
  made: () => {},
  delivered: () => {},
  leave: () => {},
};

/**
 * Writes a script's calls to its journal: the intent and the end of each call, and the settlements that were delivered
 * to the guest. A call has an answer for the guest and its own end. They usually coincide; a call that was aborted is
 * answered before it has ended, and a detached task may end long after the script.
 */
export class CallJournal {
  readonly #journal: ScriptJournal;
  readonly #tape: ScriptTape;
  readonly #onFailure: (error: unknown) => void;
  /** Calls whose ends must be stored in case of a crash: those with effects, and detached tasks. */
  readonly #awaitedCalls = new Set<number>();
  /** The answers of calls that have not ended: answers that were delivered, and answers that could not be delivered. */
  readonly #answers = new Map<number, Settlement>();
  /** The ends of calls, until their answers are delivered. */
  readonly #ends = new Map<number, Operation>();
  #writtenCalls: number;

  /** `onFailure` is called if a write that nothing awaits fails. */
  constructor(journal: ScriptJournal, tape: ScriptTape, onFailure: (error: unknown) => void) {
    this.#journal = journal;
    this.#tape = tape;
    this.#onFailure = onFailure;
    this.#writtenCalls = tape.callCount;
  }

  /** Marks that the end of a detached task will be written. */
  started({ callIndex, name }: SandboxCall): void {
    if (name === '$spawn') this.awaitEnd(callIndex);
  }

  /** Marks that the end of this call will be written. */
  awaitEnd(callIndex: number): void {
    this.#awaitedCalls.add(callIndex);
  }

  /** Stores the intent of a call before the call is executed. If the method throws or rejects, the call is not made. */
  intended(operation: Operation, isRepeatable: boolean): void | Promise<void> {
    if (operation.effect !== 'read') this.#awaitedCalls.add(callIdIndex(operation.callId));
    return this.#journal.intended(operation, isRepeatable);
  }

  ended(operation: Operation): void {
    if (!this.#journal.isStored) return;
    const callIndex = callIdIndex(operation.callId);
    this.#ends.set(callIndex, operation);
    const answer = this.#answers.get(callIndex);
    if (answer !== undefined) this.answered(answer);
  }

  /**
   * Stores the answer and the end of a call if the answer cannot be delivered now, or ever. Calls without effects are
   * not stored, because a later process can repeat them.
   */
  answered(answer: Settlement): void {
    const { callIndex } = answer;
    if (!this.#awaitedCalls.has(callIndex)) return;
    const end = this.#ends.get(callIndex);
    if (end === undefined) {
      this.#answers.set(callIndex, answer);
      return;
    }
    this.#answers.delete(callIndex);
    this.#awaitedCalls.delete(callIndex);
    this.#write(() => this.#journal.finished(end, answer));
  }

  /** Stores a delivery before it is made. Throws or rejects if the write fails. */
  delivered(clockMs: number, settlements: readonly Settlement[]): void | Promise<void> {
    if (!this.#journal.isStored) return undefined;
    const ended = settlements.flatMap((settlement) => this.#takeEnd(settlement) ?? []);
    return this.#journal.delivered({ clockMs, calls: this.#newCalls(), settlements, ended });
  }

  /** Writes the calls that the script made between the last delivery and its suspension. */
  suspended(): void {
    this.#journal.made(this.#newCalls());
  }

  #takeEnd(settlement: Settlement): Operation | undefined {
    const { callIndex } = settlement;
    const end = this.#ends.get(callIndex);
    this.#ends.delete(callIndex);
    if (end !== undefined) this.#awaitedCalls.delete(callIndex);
    else if (this.#awaitedCalls.has(callIndex)) this.#answers.set(callIndex, settlement);
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

/**
 * The number of characters of results above which a batch for the guest is complete. The result that exceeds this
 * number still belongs to the batch.
 */
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

  /** Removes and returns the first results: those of the next batch. */
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

/** The settlements that were delivered to the guest at one moment, and the time of the guest's clock. */
export interface TapeBatch {
  readonly clockMs: number;
  readonly settlements: readonly Settlement[];
}

/** A call of the script, which a replay must repeat: its name and a hash of its arguments. */
export type TapeCall = readonly [name: string, argsSha256: string];

/** A tape in its stored form, as plain data. */
export interface StoredTape {
  /** The calls in call order, from the first. */
  readonly calls: readonly TapeCall[];
  readonly batches: readonly TapeBatch[];
}

/**
 * The tape is a script's replay log: the calls that the script made, and every result that was delivered to the script,
 * in order. Runs of a script differ only by their results: a guest with the same start and the same results makes the
 * same calls, and its memory is identical bit by bit.
 */
export class ScriptTape implements FollowedTape {
  readonly #calls: (TapeCall | SandboxCall)[];
  readonly #batches: TapeBatch[];
  #follower: TapeFollower | undefined;
  #isClosed = false;

  constructor(earlier?: StoredTape) {
    this.#calls = [...(earlier?.calls ?? [])];
    this.#batches = [...(earlier?.batches ?? [])];
  }

  called(call: SandboxCall): void {
    this.#calls[call.callIndex] = call;
    this.#follower?.grown();
  }

  delivered(batch: TapeBatch): void {
    this.#batches.push(batch);
    this.#follower?.grown();
  }

  /** A follower that reads the tape from its beginning while the script runs. */
  follow(follower: TapeFollower): void {
    if (this.#isClosed) follower.closed();
    else this.#follower = follower;
  }

  /** Nothing more is written: the script has ended, or waits for decisions. */
  close(): void {
    this.#isClosed = true;
    this.#follower?.closed();
    this.#follower = undefined;
  }

  /** Whether the call equals the one on the tape; undefined if the tape does not have it yet. */
  agrees(call: SandboxCall): boolean | undefined {
    const expected = this.#calls[call.callIndex];
    if (expected === undefined) return undefined;
    if ('callIndex' in expected) return expected.name === call.name && expected.argsJson === call.argsJson;
    return isSameCall(expected, tapeCall(call));
  }

  batch(index: number): TapeBatch | undefined {
    return this.#batches[index];
  }

  /** Returns the calls starting with this index. */
  callsFrom(index: number): TapeCall[] {
    return this.#calls.slice(index).map(tapeCall);
  }

  get callCount(): number {
    return this.#calls.length;
  }

  /** Returns the code with which a call was rejected; undefined if the call was not rejected or has no settlement. */
  errorCode(callIndex: number): string | undefined {
    for (const { settlements } of this.#batches)
      for (const settlement of settlements)
        if (settlement.callIndex === callIndex) return settlement.ok ? undefined : settlement.error.code;
    return undefined;
  }

  stored(): StoredTape {
    return { calls: this.callsFrom(0), batches: this.#batches };
  }
}

/** Reads a tape, and compares a replay with it. */
export class TapeReader {
  readonly #tape: StoredTape;
  #next = 0;

  constructor(tape: StoredTape) {
    this.#tape = tape;
  }

  /** Whether the script's call equals the call on the tape. Returns true for a call after the tape's end. */
  agrees(call: SandboxCall): boolean {
    const expected = this.#tape.calls[call.callIndex];
    if (expected === undefined) return true;
    return isSameCall(expected, tapeCall(call));
  }

  /** Returns the next batch; undefined at the tape's end. */
  next(): TapeBatch | undefined {
    return this.#tape.batches[this.#next++];
  }

  get callCount(): number {
    return this.#tape.calls.length;
  }
}

function isSameCall(left: TapeCall, right: TapeCall): boolean {
  return left[0] === right[0] && left[1] === right[1];
}

function tapeCall(call: TapeCall | SandboxCall): TapeCall {
  return 'callIndex' in call ? [call.name, sha256(`${call.argsProblem ?? ''}\n${call.argsJson}`).slice(0, 32)] : call;
}

/** The result of a turn of a replayed guest. */
export type ReplayStep =
  | { readonly type: 'deliver'; readonly batch: TapeBatch }
  | { readonly type: 'ended'; readonly end: SandboxEnd }
  /** The guest is in the state that it had at the end of the tape. */
  | { readonly type: 'arrived' }
  | { readonly type: 'diverged'; readonly how: string };

/** Replays an earlier process's tape to a guest, and compares the guest's calls with the tape. */
export class Replay {
  /** Calls without an answer in the tape, by their indexes. */
  readonly unanswered = new Map<number, SandboxCall>();
  readonly #reader: TapeReader;
  readonly #tape: ScriptTape;
  readonly #mayEnd: boolean;
  #nextCall = 0;

  /**
   * `tape`: the tape of this session, which records new calls. `mayEnd`: the script may end at the end of the earlier
   * tape.
   */
  constructor(earlier: StoredTape, tape: ScriptTape, mayEnd: boolean) {
    this.#reader = new TapeReader(earlier);
    this.#tape = tape;
    this.#mayEnd = mayEnd;
  }

  /**
   * Compares the guest's calls with the tape. Returns a clause about the difference; undefined if the guest made the
   * same calls.
   */
  accept(calls: readonly SandboxCall[]): string | undefined {
    for (const call of calls) {
      if (call.callIndex !== this.#nextCall++) return 'it numbered its calls differently';
      this.unanswered.set(call.callIndex, call);
      if (call.callIndex >= this.#reader.callCount) this.#tape.called(call);
    }
    return calls.every((call) => this.#reader.agrees(call)) ? undefined : 'it made different calls';
  }

  next(end: SandboxEnd | undefined): ReplayStep {
    const batch = this.#reader.next();
    if (batch !== undefined && end === undefined) {
      for (const { callIndex } of batch.settlements) this.unanswered.delete(callIndex);
      return { type: 'deliver', batch };
    }
    if (end?.type === 'cancelled' || end?.type === 'limit') return { type: 'ended', end };
    if (batch !== undefined || (end !== undefined && !this.#mayEnd))
      return { type: 'diverged', how: 'it ended earlier' };
    return end === undefined ? { type: 'arrived' } : { type: 'ended', end };
  }
}
