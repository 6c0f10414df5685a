import { sha256 } from '../text/sha256.js';
import type { SandboxCall, Settlement, SandboxEnd } from '../protocol/index.js';

/** The settlements that were delivered to the guest at one moment, and the time of its clock. */
export interface TapeBatch {
  readonly clockMs: number;
  readonly settlements: readonly Settlement[];
}

/** A call of the script, which a replay must repeat: its name and a hash of its arguments. */
export type TapeCall = readonly [name: string, argsSha256: string];

/** A tape in its stored form. Plain data. */
export interface StoredTape {
  /** The calls in call order, from the first. */
  readonly calls: readonly TapeCall[];
  readonly batches: readonly TapeBatch[];
}

/**
 * The tape is a script's replay log: the calls that the script made, and every result that was delivered to it, in
 * order. Runs of a script differ only by their results: a guest with the same start and the same results makes the
 * same calls, and its memory is identical bit by bit.
 */
export class ScriptTape {
  readonly #calls: (TapeCall | SandboxCall)[];
  readonly #batches: TapeBatch[];

  constructor(earlier?: StoredTape) {
    this.#calls = [...(earlier?.calls ?? [])];
    this.#batches = [...(earlier?.batches ?? [])];
  }

  called(call: SandboxCall): void {
    this.#calls[call.callIndex] = call;
  }

  delivered(batch: TapeBatch): void {
    this.#batches.push(batch);
  }

  /** The calls starting with this index. */
  callsFrom(index: number): TapeCall[] {
    return this.#calls.slice(index).map(tapeCall);
  }

  get callCount(): number {
    return this.#calls.length;
  }

  /** The code with which a call was rejected. */
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

  /** Whether the script's call equals the one on the tape. A call after the tape's end is a new one. */
  agrees(call: SandboxCall): boolean {
    const expected = this.#tape.calls[call.callIndex];
    if (expected === undefined) return true;
    const [name, hash] = tapeCall(call);
    return expected[0] === name && expected[1] === hash;
  }

  /** Undefined at the tape's end. */
  next(): TapeBatch | undefined {
    return this.#tape.batches[this.#next++];
  }

  get callCount(): number {
    return this.#tape.calls.length;
  }
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

/** Replays an earlier process's tape to a guest, and compares the guest's calls with it. */
export class Replay {
  /** Calls without an answer in the tape, by their indexes. */
  readonly unanswered = new Map<number, SandboxCall>();
  readonly #reader: TapeReader;
  readonly #tape: ScriptTape;
  readonly #mayEnd: boolean;
  #nextCall = 0;

  /** `tape`: the one of this session, which records new calls. `mayEnd`: the script may end where its tape does. */
  constructor(earlier: StoredTape, tape: ScriptTape, mayEnd: boolean) {
    this.#reader = new TapeReader(earlier);
    this.#tape = tape;
    this.#mayEnd = mayEnd;
  }

  /** Undefined if the guest made the calls of the tape; otherwise the difference. */
  accept(calls: readonly SandboxCall[]): string | undefined {
    for (const call of calls) {
      if (call.callIndex !== this.#nextCall++) return 'it counts its calls differently';
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
