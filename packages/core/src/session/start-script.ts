import type { SandboxJob } from '../protocol/index.js';
import type { ScriptStart } from './script-start.js';
import { resumedSandboxLimits, sandboxLimits } from './sandbox-limits.js';
import type { SessionOptions } from './session-options.js';

/** The stored part of a session's options. `attempt`: the number of the session. */
export function scriptStart(options: SessionOptions, attempt: number): ScriptStart {
  const { scriptId, script, seed, clockMs, toolNames, contextJson, principal, tasks, runtime, earlier } = options;
  const bridge = earlier === undefined ? runtime.bridge?.version : earlier.bridge;
  // The guest enforces its original limit; the facade enforces the current one.
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
