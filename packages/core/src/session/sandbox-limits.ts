import { MAX_TIMER_MS, type Limits, type SandboxLimits } from '../protocol/index.js';

/** More calls than this past the budget are refused in the guest, without troubling the host. */
const CALL_FLOOD_MARGIN = 100;

/** What of an earlier life the sandbox's limits depend on. */
interface EarlierLimits {
  /** With which the guest was started. */
  readonly limits: Limits;
  readonly tape: CallsOfTape;
}

interface CallsOfTape {
  readonly calls: readonly (readonly [name: string, ...rest: unknown[]])[];
}

/**
 * For a script that goes on under limits that may be lower than those that it started with. What it has done already
 * it may do again along its tape: calls beyond that, and larger arguments, are refused by the host.
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
    // A new script can be sent again later; one that was suspended has nobody else to go on with it.
    queueWaitMs: MAX_TIMER_MS,
  };
}

/** Whether a guest that was started under one of them holds itself to the other. */
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

/** What of the limits the sandbox holds itself; the same object for the same limits. */
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
