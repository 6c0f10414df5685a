import { alternate } from '../measure.mjs';
import { runChild } from '../processes.mjs';

export const name = 'leftovers';

/**
 * What short scripts and calls leave to the full collections, in a process of its own: it costs more than all
 * the garbage that dies young, and shows where something holds on to what nobody needs.
 */
export async function measure({ effort }) {
  const { script, call } = await runChild('leftovers.mjs', [String(effort.idleMs)]);
  const row = { unit: 'bytes', better: 'lower' };
  const perScript = {
    ...row,
    name: 'leftovers-script',
    title: 'bytes of a short script that wait for a full collection',
    limit: 1_500,
  };
  const perCall = {
    ...row,
    name: 'leftovers-call',
    title: 'the same of a call, with its record and its place on the tape',
    limit: 1_500,
  };
  return [await alternate(perScript, [ours(script)], 1), await alternate(perCall, [ours(call)], 1)];
}

function ours(value) {
  return { name: 'toolscript', role: 'ours', block: () => [value] };
}
