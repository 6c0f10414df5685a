import { alternate } from '../measure.mjs';
import { runChild } from '../processes.mjs';

export const name = 'leftovers';

/**
 * The memory that short scripts and calls leave to full collections, measured in a separate process: it costs more
 * than all young garbage, and reveals unneeded references.
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
