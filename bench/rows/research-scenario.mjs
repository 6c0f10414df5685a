import { runResearch } from '../economy/research/run.mjs';
import { NAMES, WAYS } from '../economy/research/scenario.mjs';
import { MEASURES, researchTable } from '../economy/research/table.mjs';
import { alternate } from '../measure.mjs';

/*
 * The tokens of one piece of research: a search, three pages of 12 to 40 KB, a summary, and a file. The model is
 * scripted, and a local server plays Perplexity and Firecrawl; the agent loop, the sub-agent, the adapter, the harness,
 * the tools, the File Cabinet and the folder are real. The rules of a fair comparison are those of `economy.mjs`, and:
 *
 * - All ways have the same tools. `calls with keys and a sub-agent` uses them as scripts do, with structured calls: the
 *   pages stay in the File Cabinet, and a sub-agent reads them.
 * - `one call a turn` fetches page by page. One call with three URLs takes as many tokens as three parallel calls.
 * - Every way saves the summary in the File Cabinet and writes the file by its key, so no structured way writes it twice.
 * - All figures include the request of the sub-agent, which reads the three pages once.
 */

/** Scripts must stay better than the others by this factor. */
const AT_LEAST = {
  inputTokens: { one: 3, parallel: 2.5, delegated: 1.2 },
  cost: { one: 1.15, parallel: 1.1 },
};

export const name = 'research-scenario';
export const ownResult = true;

export async function measure() {
  const ways = {};
  for (const way of Object.keys(WAYS)) ways[way] = await runResearch(way);
  const rows = [];
  for (const measured of Object.keys(MEASURES)) rows.push(await rowOf(ways, measured));
  Object.assign(rows[0], { ways });
  Object.assign(rows.at(-1), { tables: [researchTable(ways)] });
  return rows;
}

function rowOf(ways, measured) {
  const budgets = Object.entries(AT_LEAST[measured] ?? {}).map(([way, times]) => [NAMES[way], times]);
  const row = {
    name: `research-${measured.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`,
    title: `research: ${MEASURES[measured]}`,
    unit: measured === 'turns' ? 'turns' : 'tokens',
    better: 'lower',
    selfRatio: true,
    ...(budgets.length === 0 ? {} : { atLeast: Object.fromEntries(budgets) }),
  };
  const entries = Object.keys(ways).map((way) => ({
    name: NAMES[way],
    role: way === 'scripts' ? 'ours' : 'peer',
    block: () => [ways[way][measured]],
  }));
  return alternate(row, entries, 1);
}
