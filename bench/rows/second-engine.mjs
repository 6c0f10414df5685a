import { loadToolscript, loadToolscriptOnIsolatedVm } from '../contenders/toolscript.mjs';
import { absentRow, alternate, timeRuns } from '../measure.mjs';
import { entryOf, withSessions } from '../sessions.mjs';

const CALLS = 1_000;
const ROWS = [
  {
    row: { name: 'second-engine-script', title: '`return 1+1` on QuickJS and on isolated-vm', unit: 'ms' },
    source: 'return 1+1',
    answer: 2,
    perSample: 1,
  },
  {
    row: { name: 'second-engine-calls', title: `${CALLS} calls one after the other, each, on both`, unit: 'µs' },
    source: `let sum = 0;
for (let i = 0; i < ${CALLS}; i++) sum += (await tools.echo({ i })).i;
return sum;`,
    answer: (CALLS * (CALLS - 1)) / 2,
    perSample: CALLS / 1_000,
  },
  {
    row: { name: 'second-engine-compute', title: 'a loop over 5 million numbers, on both', unit: 'ms' },
    source: 'let n = 0;\nfor (let i = 0; i < 5_000_000; i++) n = (n + i * 7) % 1_000_003;\nreturn n;',
    answer: 840,
    perSample: 1,
  },
];

export const name = 'second-engine';
export const ownResult = true;

/** The same harness on its two engines: a short script, calls, and a long computation. */
export async function measure({ effort }) {
  let contenders;
  try {
    contenders = [await loadToolscript(), await loadToolscriptOnIsolatedVm()];
  } catch {
    return ROWS.map(({ row }) => absentRow({ ...row, better: 'lower' }, 'isolated-vm is not installed'));
  }
  const rows = [];
  for (const { row, source, answer, perSample } of ROWS) {
    const measured = { forMs: effort.blockMs, perSample };
    const options = { workers: 1, source, answer, warmMs: effort.warmMs };
    rows.push(
      await withSessions(contenders, options, (opened) =>
        alternate(
          { ...row, better: 'lower' },
          opened.map(({ contender, session }) =>
            entryOf(contender, () => timeRuns(() => session.run(source), answer, measured)),
          ),
          effort.heavyRounds,
        ),
      ),
    );
  }
  return rows;
}
