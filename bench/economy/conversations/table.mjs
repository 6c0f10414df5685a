import { markdown, shown } from '../table.mjs';
import { PROGRAMS } from './run-conversation.mjs';

const MEASURES = {
  turns: 'requests',
  calls: 'tool calls',
  inputTokens: 'input tokens',
  newInputTokens: 'of them new',
  outputTokens: 'output tokens',
  cost: 'cost',
};

/** A header, and a line for each conversation: without / with the variables of earlier scripts. */
export function conversationTable(conversations) {
  return [
    ['conversation', ...Object.values(MEASURES), 'cost with variables'],
    ...conversations.map(({ title, ways }) => [
      title,
      ...Object.keys(MEASURES).map((measure) => PROGRAMS.map((way) => shown(ways[way][measure])).join(' / ')),
      `${Math.round((100 * ways['one-program'].cost) / ways.separate.cost)} %`,
    ]),
  ];
}

/** The part of the page that is generated from the results. */
export function conversationSection({ rows: [{ conversations }] }) {
  const reasons = conversations.map(({ title, why }) => `- **${title}.** ${why}`);
  return `${markdown(conversationTable(conversations))}\n\n${reasons.join('\n')}\n`;
}
