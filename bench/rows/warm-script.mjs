import { alternate, timeRuns } from '../measure.mjs';
import { entryOf, withSessions } from '../sessions.mjs';

const SOURCE = 'return 1+1';
const PACE_MS = 12;

export const name = 'warm-script';

/** A script that was compiled before: from the call to its outcome, back to back and with pauses. */
export function measure({ contenders, effort }) {
  const options = { workers: 2, source: SOURCE, answer: 2, warmMs: effort.warmMs };
  return withSessions(contenders, options, async (opened) => {
    const entries = (measured) =>
      opened.map(({ contender, session }) =>
        entryOf(contender, () => timeRuns(() => session.run(SOURCE), 2, measured)),
      );
    const hot = await alternate(
      {
        name: 'warm-script-hot',
        title: '`return 1+1`, compiled before, call to outcome, back to back',
        unit: 'ms',
        better: 'lower',
        limit: 0.15,
        atLeast: { run: 25, 'quickjs-emscripten': 4 },
      },
      entries({ forMs: effort.blockMs }),
      effort.rounds,
    );
    const paced = await alternate(
      { name: 'warm-script-paced', title: `the same, one every ${PACE_MS} ms`, unit: 'ms', better: 'lower' },
      entries({ forMs: Number.POSITIVE_INFINITY, atMost: effort.pacedRuns, paceMs: PACE_MS }),
      effort.pacedRounds,
    );
    return [hot, paced];
  });
}
