import type { Limits, StoredScript } from '../../protocol/index.js';

/** The inputs of a script's start, as plain data. Only the limits may change when the script is resumed. */
export interface ScriptStart {
  readonly scriptId: string;
  readonly script: StoredScript;
  /** 1, or 2 if Toolscript or its store failed at the first attempt. */
  readonly attempt: number;
  readonly seed: readonly [number, number, number, number];
  /** The guest's clock at the script's start, in ms since 1970. */
  readonly clockMs: number;
  /** Tool names as the script writes them. */
  readonly toolNames: readonly string[];
  readonly spawn: boolean;
  /** The `context` that the script reads. */
  readonly contextJson: string;
  /** Present: the script repeats a text that its conversation has read; see `RunContext`. */
  readonly repeatsReadText?: true | undefined;
  readonly limits: Limits;
  readonly principal: string | undefined;
  /** The version of the bridge of the runtime that started the script; see `SandboxRuntime`. */
  readonly bridge?: number | undefined;
}
