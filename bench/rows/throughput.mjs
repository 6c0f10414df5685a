import assert from 'node:assert/strict';
import { alternate } from '../measure.mjs';
import { entryOf, withSessions } from '../sessions.mjs';

const CALLERS = 100;
const PLAIN = 'return 1+1';
const WAITING = `const both = await Promise.all([tools.wait({ ms: 10 }), tools.wait({ ms: 10 })]);
return both.length + (await tools.wait({ ms: 10 })).ms;`;

/** `run` occupies a worker while its tools wait. Its maximum number of workers lets more scripts wait. */
const MANY_WORKERS = 32;

export const name = 'throughput';

/** A hundred callers that submit the next script as soon as theirs has ended, on two workers. */
export async function measure(bench) {
  const plain = await throughputRow(bench, bench.contenders, PLAIN, 2, {
    name: 'throughput-plain',
    title: `\`return 1+1\` for ${CALLERS} callers on 2 workers`,
    limit: 20_000,
    atLeast: { run: 50, 'quickjs-emscripten': 5 },
  });
  const waiting = await throughputRow(bench, withManyWorkers(bench.contenders), WAITING, 12, {
    name: 'throughput-waiting',
    title: `three 10 ms calls, two of them in parallel, for ${CALLERS} callers on 2 workers`,
    limit: 2_500,
    atLeast: { run: 25 },
  });
  return [plain, waiting];
}

function throughputRow({ effort }, contenders, source, answer, row) {
  return withSessions(contenders, { workers: 2, source, answer, warmMs: effort.warmMs / 2 }, async (opened) => {
    for (const { session } of opened) await scriptsPerSecond(session, source, answer, effort.throughputMs / 2);
    return alternate(
      { ...row, unit: 'scripts/s', better: 'higher' },
      opened.map(({ contender, session }) =>
        entryOf(contender, async () => [await scriptsPerSecond(session, source, answer, effort.throughputMs)]),
      ),
      effort.throughputRounds,
    );
  });
}

async function scriptsPerSecond(session, source, answer, forMs) {
  const began = performance.now();
  let done = 0;
  const caller = async () => {
    while (performance.now() - began < forMs) {
      assert.deepEqual(await session.run(source), answer, 'a wrong answer was timed');
      done++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return (1_000 * done) / (performance.now() - began);
}

function withManyWorkers(contenders) {
  return contenders.flatMap((contender) => {
    if (contender.name !== 'run') return [contender];
    const many = {
      ...contender,
      name: `run, ${MANY_WORKERS} workers`,
      open: () => contender.open({ workers: MANY_WORKERS }),
    };
    return [contender, many];
  });
}
