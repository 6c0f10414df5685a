import { sha256 } from '../text/sha256.js';
import type { SandboxCall, Settlement } from '../protocol/index.js';

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
