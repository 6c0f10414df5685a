import { afterAll, expect, it } from 'vitest';
import { FLOWS, judgeProgram, makeProgram, seededNumbers } from './flow-oracle.js';
import { closeLabelRuns } from './label-runs.js';

/*
 * `npm run fuzz:flow` sets the number of changed runs and the seed. An oracle that knows nothing of labels changes the
 * result of a call: each argument that changes must name the call as its source.
 */

const RUNS = Number(process.env['TOOLSCRIPT_FLOW_RUNS'] ?? 600);
const SEED = Number(process.env['TOOLSCRIPT_FLOW_SEED'] ?? 1);

afterAll(closeLabelRuns);

it('labels every argument that changes with a result', { timeout: 6 * 3_600_000 }, async () => {
  const next = seededNumbers(SEED);
  const missed: string[] = [];
  let [runs, changes] = [0, 0];
  for (let program = 0; program < FLOWS.length || runs < RUNS; program++) {
    // Each flow comes first once, and then all in combinations.
    const body = makeProgram(next, 6, program < FLOWS.length ? program : undefined);
    const verdict = await judgeProgram(body);
    runs += verdict.runs;
    changes += verdict.changes;
    missed.push(...verdict.missed.map((problem) => `${problem}:\n${body}`));
    if (verdict.runs === 0) runs += 1;
  }
  console.log(`Flows: ${runs} changed runs, ${changes} changed arguments, ${missed.length} missed.`);
  expect(missed.slice(0, 5)).toEqual([]);
  expect(changes).toBeGreaterThan(RUNS / 4);
});
