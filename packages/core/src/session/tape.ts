import { sha256 } from '../text/sha256.js';
import type { SandboxCall, Settlement } from '../protocol/index.js';

/** What was delivered to the guest at one moment, and what its clock said then. */
export interface TapeBatch {
  readonly clockMs: number;
  readonly settlements: readonly Settlement[];
}

/** A call that the script made, as a replay must make it again: its name and a hash of its arguments. */
export type TapeCall = readonly [name: string, argsSha256: string];

/** A tape as it is stored. Plain data. */
export interface StoredTape {
  /** In call order, from the first. */
  readonly calls: readonly TapeCall[];
  readonly batches: readonly TapeBatch[];
}

/**
 * The tape is a script's replay log: the calls that the script made, and every result that was delivered to it, in order.
 * Nothing else makes one run of a script differ from another: a guest that starts the same and gets the same results
 * makes the same calls, and its memory is the same, bit by bit.
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

  /** The calls from this index on. */
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

  /** Whether the script makes this call where the tape has it. A call past the tape's end is a new one. */
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
