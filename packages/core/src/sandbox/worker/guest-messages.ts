import type { SandboxJob, SandboxLimits, Settlement } from '../../protocol/index.js';
import { warmSeed } from './seed.js';
import { toolTree } from './tool-tree.js';

/* The texts that the guest's bridge reads: see `begin` and `settle` there. */

const limitTexts = new WeakMap<SandboxLimits, string>();

function guestLimits(limits: SandboxLimits): string {
  let text = limitTexts.get(limits);
  if (text === undefined) {
    text = [
      limits.maxCalls,
      limits.maxBuiltinCalls,
      limits.maxToolInputBytes,
      limits.maxReturnBytes,
      limits.maxLogEvents,
      limits.maxLogBytes,
      limits.maxOutputBytes,
      limits.maxProgressEvents,
    ].join();
    limitTexts.set(limits, text);
  }
  return text;
}

/** What the guest's bridge reads at a script's start; see `begin` there. */
export function writeInit({ runId, limits, seed, spawn, toolNames, contextJson }: SandboxJob): string {
  return `[${guestLimits(limits)},${warmSeed(seed).join()},${spawn ? JSON.stringify(runId) : 0},${JSON.stringify(toolTree(toolNames))},${JSON.stringify(contextJson)}]`;
}

export function writeBatch(settlements: readonly Settlement[]): string {
  const entries = settlements.map((settlement) => {
    if (settlement.ok) return `[${settlement.callIndex},1${settlement.json === '' ? '' : `,${settlement.json}`}]`;
    const { code, message, data } = settlement.error;
    return `[${settlement.callIndex},0,${JSON.stringify(code)},${JSON.stringify(message)}${data === undefined ? '' : `,${JSON.stringify(data)}`}]`;
  });
  return `[${entries.join(',')}]`;
}
