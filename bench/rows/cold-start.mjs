import assert from 'node:assert/strict';
import { alternate } from '../measure.mjs';
import { runChild, runNode } from '../processes.mjs';

export const name = 'cold-start';

/** A new process: the time to its first outcome, and in total. */
export async function measure({ effort, contenders }) {
  const subjects = [
    { name: 'toolscript', role: 'ours', child: 'cold-toolscript.mjs' },
    ...contenders
      .filter(({ name: peer }) => peer === 'run')
      .map(({ version }) => ({ name: 'run', role: 'peer', version, child: 'cold-run.mjs' })),
  ];
  const outcome = await alternate(
    {
      name: 'cold-outcome',
      title: 'createHarness to the first outcome in a cold process, after the imports, with one tool call',
      unit: 'ms',
      better: 'lower',
      limit: 150,
    },
    subjects.map((subject) => ({ ...subject, block: async () => [(await coldRun(subject)).outcomeMs] })),
    effort.coldRounds,
  );
  const whole = await alternate(
    { name: 'cold-process', title: 'the same as a whole process', unit: 'ms', better: 'lower' },
    [
      ...subjects.map((subject) => ({ ...subject, block: async () => [(await coldRun(subject)).wallMs] })),
      { name: 'node -e 0', role: 'baseline', block: async () => [(await runNode(['-e', '0'])).wallMs] },
    ],
    effort.coldRounds,
  );
  return [outcome, whole];
}

async function coldRun({ name: subject, child }) {
  const result = await runChild(child);
  assert.equal(result.value, 42, `${subject} gave a wrong answer`);
  return result;
}
