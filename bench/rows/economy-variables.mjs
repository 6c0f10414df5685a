import { CONVERSATIONS } from '../economy/conversations/index.mjs';
import { PROGRAMS, runConversation } from '../economy/conversations/run-conversation.mjs';
import { conversationTable } from '../economy/conversations/table.mjs';
import { alternate } from '../measure.mjs';

/*
 * The token cost of conversations in which each script begins anew, and of the same conversations in which scripts share
 * their variables. Both ways make the same steps in the same number of requests and are checked by the values of their
 * scripts; a script that can use a variable does not repeat the statements that made it.
 */

const NAMES = { separate: 'separate scripts', 'one-program': 'shared variables' };

export const name = 'economy-variables';
export const ownResult = true;

export async function measure() {
  const conversations = [];
  for (const conversation of CONVERSATIONS) {
    const ways = {};
    for (const way of PROGRAMS) ways[way] = await runConversation(conversation, way);
    const { name, title, why } = conversation;
    conversations.push({ name, title, why, ways });
  }
  const row = {
    name: 'economy-variables-cost',
    title: `cost of ${conversations.length} conversations`,
    unit: 'tokens',
    better: 'lower',
    selfRatio: true,
  };
  const totalOf = (way) => conversations.reduce((total, { ways }) => total + ways[way].cost, 0);
  const entries = PROGRAMS.map((way) => ({
    name: NAMES[way],
    role: way === 'one-program' ? 'ours' : 'peer',
    block: () => [totalOf(way)],
  }));
  const measured = await alternate(row, entries, 1);
  return [Object.assign(measured, { conversations, tables: [conversationTable(conversations)] })];
}
