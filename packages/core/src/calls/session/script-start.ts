import type { Limits, ScriptOrigin, StoredScript } from '../../protocol/index.js';

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
  /** The facts of the conversation, if a rule is about the sources of arguments; see `RunContext`. */
  readonly origin?: ScriptOrigin | undefined;
  readonly limits: Limits;
  readonly principal: string | undefined;
  /** The version of the bridge of the runtime that started the script; see `SandboxRuntime`. */
  readonly bridge?: number | undefined;
  /** Undefined unless the script belongs to a program. */
  readonly cell?: CellStart | undefined;
}

/** The place of a script in its program. */
export interface CellStart {
  /** The number of the script, from 1. */
  readonly number: number;
  /** The heap in which the script started. Undefined: the script started a new program. */
  readonly heapId?: string | undefined;
  /** The heap that must be the newest one of the conversation for the script's own heap to be kept. */
  readonly parentId?: string | undefined;
  readonly threadId?: string | undefined;
}
