import type { SandboxCall, SandboxJob, Settlement } from '../../protocol/sandbox.js';

/** Reads a tape while its script runs. */
export interface TapeFollower {
  /** The tape has a new call or a new batch. */
  grown(): void;
  /** Nothing more is written. */
  closed(): void;
}

/** The calls of a script, and the results that it has received. */
export interface FollowedTape {
  follow(follower: TapeFollower): void;
  /** Whether the call equals the one on the tape; undefined if the tape does not have it yet. */
  agrees(call: SandboxCall): boolean | undefined;
  nameOf(callIndex: number): string | undefined;
  batch(index: number): { readonly clockMs: number; readonly settlements: readonly Settlement[] } | undefined;
}

/** The data with which a copy of the script makes the same calls. */
export interface FollowedScript {
  readonly tape: FollowedTape;
  readonly job: SandboxJob;
}
