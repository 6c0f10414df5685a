import type { SandboxJob, SandboxLimits, Settlement } from '../../protocol/index.js';
import { warmSeed } from './seed.js';
import { toolTree } from './tool-tree.js';

/* The texts that the guest's bridge reads: see its functions `begin` and `settle`. */

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

/** The text that the guest's bridge reads at a script's start; see its function `begin`. */
export function writeInit(job: SandboxJob): string {
  const { runId, limits, seed, spawn, toolNames, contextJson, positions = '' } = job;
  return `[${guestLimits(limits)},${warmSeed(seed).join()},${spawn ? JSON.stringify(runId) : 0},${JSON.stringify(toolTree(toolNames))},${JSON.stringify(contextJson)}]\n${positions}`;
}

export function writeBatch(settlements: readonly Settlement[]): string {
  const entries = settlements.map((settlement) => {
    if (settlement.ok) return `[${settlement.callIndex},1${settlement.json === '' ? '' : `,${settlement.json}`}]`;
    const { code, message, data, stack = '' } = settlement.error;
    const members = [settlement.callIndex, stack, code, message];
    return JSON.stringify(data === undefined ? members : [...members, data]);
  });
  return `[${entries.join(',')}]`;
}
