import { MAX_TIMER_MS, type Limits, type SandboxLimits } from '../protocol/index.js';

/** Calls beyond the budget by more than this are refused in the guest, at no cost to the host. */
const CALL_FLOOD_MARGIN = 100;

/** What the limits of a resumed script's sandbox depend on. */
interface EarlierLimits {
  /** The limits that the guest was started with. */
  readonly limits: Limits;
  readonly tape: CallsOfTape;
}

interface CallsOfTape {
  readonly calls: readonly (readonly [name: string, ...rest: unknown[]])[];
}

/**
 * For a script that is resumed under limits that may be lower than those it started with. It may do again along its tape
 * what it has done already; the host refuses calls beyond that, and larger arguments.
 */
export function resumedSandboxLimits(limits: Limits, earlier: EarlierLimits): SandboxLimits {
  const { maxCalls, maxBuiltinCalls, ...own } = sandboxLimits(limits);
  const builtinCalls = countBuiltinCalls(earlier.tape);
  const toolCalls = earlier.tape.calls.length - builtinCalls;
  return {
    ...own,
    maxCalls: Math.max(maxCalls, toolCalls + CALL_FLOOD_MARGIN),
    maxBuiltinCalls: Math.max(maxBuiltinCalls, builtinCalls),
    maxToolInputBytes: earlier.limits.maxToolInputBytes,
    // A new script can be sent again later; a suspended one was claimed by this process.
    queueWaitMs: MAX_TIMER_MS,
  };
}

/** Whether a guest that was started under one of them enforces the other. */
export function isSameForTheGuest(left: Limits, right: Limits): boolean {
  const { queueWaitMs: _leftWait, maxToolInputBytes: _leftInput, ...own } = sandboxLimits(left);
  const other = sandboxLimits(right);
  return Object.entries(own).every(([name, limit]) => other[name as keyof SandboxLimits] === limit);
}

export function countBuiltinCalls({ calls }: CallsOfTape): number {
  return calls.filter(([name]) => isBuiltin(name)).length;
}

/** A detached task and a retry are tool calls. */
function isBuiltin(name: string): boolean {
  return name.startsWith('$') && name !== '$spawn' && name !== '$retry';
}

const limitsOf = new WeakMap<Limits, SandboxLimits>();

/** The limits that the sandbox enforces; the same object for the same limits. */
export function sandboxLimits(limits: Limits): SandboxLimits {
  let made = limitsOf.get(limits);
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
    limitsOf.set(limits, made);
  }
  return made;
}
