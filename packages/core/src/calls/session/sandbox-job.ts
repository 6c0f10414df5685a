import type { Limits, SandboxJob, SandboxLimits } from '../../protocol/index.js';
import { MAX_TIMER_MS } from '../../protocol/limited-signal.js';
import type { ScriptStart } from './script-start.js';
import type { SessionOptions } from './session-options.js';

/** Returns the stored part of a session's options. `attempt`: the number of the session. */
export function scriptStart({ services, context, script }: SessionOptions, attempt: number): ScriptStart {
  const { scriptId, compiled, seed, clockMs, toolNames, contextJson, earlier } = script;
  const bridge = earlier === undefined ? services.runtime.bridge?.version : earlier.bridge;
  // The guest enforces its original limit; the facade enforces the current one.
  const { maxToolInputBytes } = earlier?.limits ?? context.limits;
  return {
    scriptId,
    script: compiled.stored(),
    attempt,
    seed,
    clockMs,
    toolNames,
    spawn: services.tasks !== undefined,
    contextJson,
    repeatsReadText: context.repeatsReadText || undefined,
    origin: context.origin,
    limits: { ...context.limits, maxToolInputBytes },
    principal: context.principal,
    bridge,
    cell: script.cell?.start,
  };
}

/** Returns the job for a runtime. */
export function sandboxJob({ services, context, script }: SessionOptions): SandboxJob {
  const { compiled, earlier } = script;
  const { limits, principal } = context;
  return {
    runId: script.scriptId,
    sha256: compiled.codeSha256,
    javascript: compiled.javascript,
    positions: compiled.positions(),
    toolNames: script.toolNames,
    contextJson: script.contextJson,
    spawn: services.tasks !== undefined,
    seed: script.seed,
    clockMs: script.clockMs,
    wallMs: limits.timeoutMs,
    principal,
    limits: earlier === undefined ? sandboxLimits(limits) : resumedSandboxLimits(limits, earlier),
    cell: script.cell?.sandbox,
  };
}

/**
 * Maximum number of calls over the budget that reach the host. The guest refuses all further calls at no cost to the
 * host.
 */
const CALL_FLOOD_MARGIN = 100;

/** The inputs for the sandbox limits of a resumed script. */
interface EarlierLimits {
  /** The limits with which the guest was started. */
  readonly limits: Limits;
  readonly tape: CallsOfTape;
}

interface CallsOfTape {
  readonly calls: readonly (readonly [name: string, ...rest: unknown[]])[];
}

/**
 * Returns the sandbox limits of a resumed script, whose limits may be lower now than at its start. The replay may
 * repeat all recorded calls. The host refuses new calls over the limits, and larger arguments.
 */
function resumedSandboxLimits(limits: Limits, earlier: EarlierLimits): SandboxLimits {
  const { maxCalls, maxBuiltinCalls, ...own } = sandboxLimits(limits);
  const builtinCalls = countBuiltinCalls(earlier.tape);
  const toolCalls = earlier.tape.calls.length - builtinCalls;
  return {
    ...own,
    maxCalls: Math.max(maxCalls, toolCalls + CALL_FLOOD_MARGIN),
    maxBuiltinCalls: Math.max(maxBuiltinCalls, builtinCalls),
    maxToolInputBytes: earlier.limits.maxToolInputBytes,
    // A new script can be submitted again later; a resumed script must not fail in the queue, because this process has
    // already claimed it.
    queueWaitMs: MAX_TIMER_MS,
  };
}

/** Whether a guest that was started with the limits `left` also enforces the limits `right`. */
export function isSameForTheGuest(left: Limits, right: Limits): boolean {
  const { queueWaitMs: _leftWait, maxToolInputBytes: _leftInput, ...own } = sandboxLimits(left);
  const other = sandboxLimits(right);
  return Object.entries(own).every(([name, limit]) => other[name as keyof SandboxLimits] === limit);
}

export function countBuiltinCalls({ calls }: CallsOfTape): number {
  return calls.filter(([name]) => isBuiltin(name)).length;
}

/** Whether the name of a call is that of a built-in function. Detached tasks and retries are tool calls. */
function isBuiltin(name: string): boolean {
  return name.startsWith('$') && name !== '$spawn' && name !== '$retry';
}

const knownSandboxLimits = new WeakMap<Limits, SandboxLimits>();

/** Returns the limits that the sandbox enforces. The same limits give the same object. */
function sandboxLimits(limits: Limits): SandboxLimits {
  let made = knownSandboxLimits.get(limits);
  if (made === undefined) {
    const {
      computeMs,
      memoryMb,
      maxStackBytes,
      maxReturnBytes,
      maxToolInputBytes,
      maxBuiltinCalls,
      maxLogEvents,
      maxLogBytes,
      maxProgressEvents,
      queueWaitMs,
    } = limits;
    const maxCalls = limits.maxToolCalls + CALL_FLOOD_MARGIN;
    made = {
      computeMs,
      memoryMb,
      maxStackBytes,
      maxReturnBytes,
      maxToolInputBytes,
      maxCalls,
      maxBuiltinCalls,
      maxLogEvents,
      maxLogBytes,
      maxOutputBytes: maxReturnBytes,
      maxProgressEvents,
      queueWaitMs,
    };
    knownSandboxLimits.set(limits, made);
  }
  return made;
}
