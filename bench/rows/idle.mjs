import assert from 'node:assert/strict';
import { alternate } from '../measure.mjs';
import { runChild } from '../processes.mjs';

export const name = 'idle';

/** A warm harness that has run scripts and is now idle, in a separate process. */
export async function measure({ effort }) {
  const { ran, timers, percent } = await runChild('idle.mjs', [String(effort.idleMs)]);
  assert.ok(ran, 'the scripts before the pause gave wrong answers');
  const share = {
    name: 'idle-cpu',
    title: `CPU of a warm idle harness over ${effort.idleMs / 1_000} s`,
    unit: '%',
    better: 'lower',
    limit: 1,
  };
  const awake = {
    name: 'idle-timers',
    title: 'timers that are awake in it',
    unit: 'timers',
    better: 'lower',
    limit: 0,
  };
  return [await alternate(share, [ours(percent)], 1), await alternate(awake, [ours(timers)], 1)];
}

function ours(value) {
  return { name: 'toolscript', role: 'ours', block: () => [value] };
}
