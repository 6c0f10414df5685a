import { alternate, timeRuns } from '../measure.mjs';
import { entryOf, withSessions } from '../sessions.mjs';

const SOURCE = 'return 1+1';

export const name = 'sandbox-alone';

/** The time that the harness adds to the sandbox port below it. */
export function measure({ contenders, effort }) {
  const ours = contenders.filter(({ role }) => role !== 'peer');
  return withSessions(ours, { workers: 2, source: SOURCE, answer: 2, warmMs: effort.warmMs }, async (opened) => [
    await alternate(
      {
        name: 'sandbox-alone',
        title: '`return 1+1` through the harness and through the sandbox port alone',
        unit: 'ms',
        better: 'lower',
      },
      opened.map(({ contender, session }) =>
        entryOf(contender, () => timeRuns(() => session.run(SOURCE), 2, { forMs: effort.blockMs })),
      ),
      effort.rounds,
    ),
  ]);
}
