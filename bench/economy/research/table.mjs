import { markdown, shown } from '../table.mjs';
import { NAMES } from './scenario.mjs';

/** The figures of each way. */
export const MEASURES = {
  turns: 'turns',
  inputTokens: 'input tokens',
  newInputTokens: 'of them new',
  outputTokens: 'output tokens',
  cost: 'cost',
  agentTokens: "the agent's own model",
  carriedTokens: 'carried into later turns',
};

/** A header, and a line for each way. */
export function researchTable(ways) {
  const measures = Object.keys(MEASURES);
  return [
    ['way', ...Object.values(MEASURES)],
    ...Object.entries(ways).map(([way, figures]) => [
      NAMES[way],
      ...measures.map((measure) => shown(figures[measure])),
    ]),
  ];
}

/** The part of the page that is generated from the results. */
export function researchPage({ date, rows: [{ ways }] }) {
  const percent = (way, measure) => `${Math.round((100 * ways.scripts[measure]) / ways[way][measure])} %`;
  return `${markdown(researchTable(ways))}

Scripts take ${percent('one', 'inputTokens')} of the input tokens of one call a turn, ${percent('parallel', 'inputTokens')} of those of parallel calls, and ${percent('delegated', 'inputTokens')} of those of calls with keys and a sub-agent. The cost is ${percent('one', 'cost')}, ${percent('parallel', 'cost')} and ${percent('delegated', 'cost')}.

Measured on ${date.slice(0, 10)}. The figures are the same on every machine.
`;
}
