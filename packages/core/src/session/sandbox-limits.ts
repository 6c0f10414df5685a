import type { Limits, SandboxLimits } from '../protocol/index.js';

/** More calls than this past the budget are refused in the guest, without troubling the host. */
const CALL_FLOOD_MARGIN = 100;

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
