import type { Limits, StoredScript } from '../protocol/index.js';

/** What a script starts from. It never changes while the script lives. Plain data. */
export interface ScriptStart {
  readonly scriptId: string;
  readonly script: StoredScript;
  /** 1, or 2 where Toolscript itself had failed the first time. */
  readonly attempt: number;
  readonly seed: readonly [number, number, number, number];
  /** The guest's clock, in ms since 1970. */
  readonly clockMs: number;
  /** Names as the script writes them. */
  readonly toolNames: readonly string[];
  readonly spawn: boolean;
  /** What the script reads as `context`. */
  readonly contextJson: string;
  readonly limits: Limits;
  readonly principal: string | undefined;
  /** The version of the bridge of the runtime that started it; see `SandboxRuntime`. */
  readonly bridge?: number;
}
