import type { Limits, SandboxJob, StoredScript } from '../protocol/index.js';
import { resumedSandboxLimits, sandboxLimits } from './sandbox-limits.js';
import type { SessionOptions } from './session-options.js';

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

/** What is stored of a session's options. `attempt`: of the session. */
export function scriptStart(options: SessionOptions, attempt: number): ScriptStart {
  const { scriptId, script, seed, clockMs, toolNames, contextJson, principal, tasks, runtime, earlier } = options;
  const bridge = earlier === undefined ? runtime.bridge?.version : earlier.bridge;
  // The guest enforces the limit that it was started with; the facade enforces today's.
  const { maxToolInputBytes } = earlier?.limits ?? options.limits;
  return {
    scriptId,
    script: script.stored(),
    attempt,
    seed,
    clockMs,
    toolNames,
    spawn: tasks !== undefined,
    contextJson,
    limits: { ...options.limits, maxToolInputBytes },
    principal,
    ...(bridge === undefined ? {} : { bridge }),
  };
}

/** The job for a runtime. */
export function sandboxJob(options: SessionOptions): SandboxJob {
  const { scriptId, script, limits, tasks, earlier } = options;
  return {
    runId: scriptId,
    sha256: script.codeSha256,
    javascript: script.javascript,
    positions: script.positions(),
    toolNames: options.toolNames,
    contextJson: options.contextJson,
    spawn: tasks !== undefined,
    seed: options.seed,
    clockMs: options.clockMs,
    wallMs: limits.timeoutMs,
    principal: options.principal,
    limits: earlier === undefined ? sandboxLimits(limits) : resumedSandboxLimits(limits, earlier),
  };
}
