import { alternate, timeRuns } from '../measure.mjs';
import { entryOf, withSessions } from '../sessions.mjs';

const TOOL_MS = 50;
const SOURCE = `const batch = () => Promise.all([1, 2, 3, 4].map(() => tools.wait({ ms: ${TOOL_MS} })));
const waited = [...(await batch()), ...(await batch()), await tools.wait({ ms: ${TOOL_MS} }), await tools.wait({ ms: ${TOOL_MS} })];
return waited.length;`;
/** Two batches and two single calls; the ideal time is the time of the tools alone. */
const IDEAL_MS = 4 * TOOL_MS;

export const name = 'schedule';

/** Ten calls of 50 ms, four at a time if the script requests it. */
export function measure({ contenders, effort }) {
  return withSessions(contenders, { workers: 2, source: SOURCE, answer: 10, warmMs: 0 }, async (opened) => [
    await alternate(
      {
        name: 'schedule',
        title: `ten ${TOOL_MS} ms calls in four steps, share of the ideal ${IDEAL_MS} ms`,
        unit: '%',
        better: 'higher',
        limit: 95,
      },
      opened.map(({ contender, session }) =>
        entryOf(contender, async () => {
          const times = await timeRuns(() => session.run(SOURCE), 10, { forMs: 0 });
          return times.map((ms) => (100 * IDEAL_MS) / ms);
        }),
      ),
      effort.heavyRounds,
    ),
  ]);
}
