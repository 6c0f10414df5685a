import { alternate, timeRuns } from '../measure.mjs';
import { entryOf, withSessions } from '../sessions.mjs';

const CALLS = 1_000;
const ANSWER = (CALLS * (CALLS - 1)) / 2;
const SEQUENTIAL = `let sum = 0;
for (let i = 0; i < ${CALLS}; i++) sum += (await tools.echo({ i })).i;
return sum;`;
const PARALLEL = `const results = await Promise.all(Array.from({ length: ${CALLS} }, (_, i) => tools.echo({ i })));
return results.reduce((sum, { i }) => sum + i, 0);`;
const NOTE = `the whole script's time divided by its ${CALLS} calls to a tool that does nothing`;

export const name = 'tool-calls';

/** Calls to a tool that answers at once, one after the other and all together. */
export async function measure(bench) {
  const sequential = await callsRow(bench, SEQUENTIAL, {
    name: 'tool-calls-sequential',
    title: `${CALLS} calls one after the other, each`,
    limit: 30,
    atLeast: { run: 4, 'isolated-vm': 1 },
  });
  const parallel = await callsRow(bench, PARALLEL, {
    name: 'tool-calls-parallel',
    title: `${CALLS} calls in one Promise.all, each`,
    limit: 15,
    atLeast: { run: 5 },
  });
  return [sequential, parallel];
}

function callsRow({ contenders, effort }, source, row) {
  const measured = { forMs: effort.blockMs, perSample: CALLS / 1_000 };
  return withSessions(contenders, { workers: 1, source, answer: ANSWER, warmMs: effort.warmMs }, (opened) =>
    alternate(
      { ...row, unit: 'µs', better: 'lower', notes: [NOTE] },
      opened.map(({ contender, session }) =>
        entryOf(contender, () => timeRuns(() => session.run(source), ANSWER, measured)),
      ),
      effort.heavyRounds,
    ),
  );
}
