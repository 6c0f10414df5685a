import type { SandboxCall, SandboxEnd } from '../protocol/index.js';
import { TapeReader, type ScriptTape, type StoredTape, type TapeBatch } from './tape.js';

/** What a replay comes to after a turn of its guest. */
export type ReplayStep =
  | { readonly type: 'deliver'; readonly batch: TapeBatch }
  | { readonly type: 'ended'; readonly end: SandboxEnd }
  /** The guest is where it was when the tape ended. */
  | { readonly type: 'arrived' }
  | { readonly type: 'diverged'; readonly how: string };

/** Leads a guest along the tape of an earlier process, and holds it to the calls that the tape has. */
export class Replay {
  /** Calls that the tape has not answered, by their indexes. */
  readonly unanswered = new Map<number, SandboxCall>();
  readonly #reader: TapeReader;
  readonly #tape: ScriptTape;
  readonly #mayEnd: boolean;
  #nextCall = 0;

  /** `tape`: of this session, where new calls are recorded. `mayEnd`: the script may end where its tape does. */
  constructor(earlier: StoredTape, tape: ScriptTape, mayEnd: boolean) {
    this.#reader = new TapeReader(earlier);
    this.#tape = tape;
    this.#mayEnd = mayEnd;
  }

  /** Undefined where the guest made the calls of the tape; otherwise how it did not. */
  accept(calls: readonly SandboxCall[]): string | undefined {
    for (const call of calls) {
      if (call.callIndex !== this.#nextCall++) return 'it counts its calls in another way';
      this.unanswered.set(call.callIndex, call);
      if (call.callIndex >= this.#reader.callCount) this.#tape.called(call);
    }
    return calls.every((call) => this.#reader.agrees(call)) ? undefined : 'it made other calls';
  }

  next(end: SandboxEnd | undefined): ReplayStep {
    const batch = this.#reader.next();
    if (batch !== undefined && end === undefined) {
      for (const { callIndex } of batch.settlements) this.unanswered.delete(callIndex);
      return { type: 'deliver', batch };
    }
    if (end?.type === 'cancelled' || end?.type === 'limit') return { type: 'ended', end };
    if (batch !== undefined || (end !== undefined && !this.#mayEnd))
      return { type: 'diverged', how: 'it ended before' };
    return end === undefined ? { type: 'arrived' } : { type: 'ended', end };
  }
}
