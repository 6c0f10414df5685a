import type { SandboxCall, SandboxEnd } from '../protocol/index.js';
import { TapeReader, type ScriptTape, type StoredTape, type TapeBatch } from './tape.js';

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
