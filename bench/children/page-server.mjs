// A server with the web page, and an agent whose model writes the text that its prompt names, one delta at a time.
import { setTimeout as sleep } from 'node:timers/promises';
import { createHarness, memoryStore } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import { createServer, fixedAgents } from '@toolscript/server';
import { openDatabase } from '@toolscript/service/stores';
import { pageFolder } from '@toolscript/web';

const [token] = process.argv.slice(2);
const harness = createHarness({ tools: [], typecheck: 'off' });
const config = defineAgent({ slug: 'writer', carrier: 'text', provider: { api: 'scripted', model: 'writer' } });
const writer = {
  config,
  capability: harness.capability,
  open: async () => ({ agent: config, provider: writingModel(), harness }),
};
const { stores, log: events } = await openDatabase('memory:');
const app = await createServer({
  stores,
  events,
  scripts: memoryStore(),
  agents: fixedAgents([writer]),
  auth: { token },
  page: pageFolder,
});
process.send({ url: await app.listen({ host: '127.0.0.1', port: 0 }) });
process.once('message', () => void close());

async function close() {
  await app.close();
  await harness.close();
  process.disconnect();
}

/**
 * The prompt names the text, the number of deltas, and the ms between them. Each delta has its number between two
 * marks.
 */
function writingModel() {
  return {
    api: 'openai-responses',
    model: 'writer',
    capabilities: { stopSequences: true, customTools: false },
    async *stream({ conversation }, { answerId = 'answer', signal } = {}) {
      const { content: prompt } = conversation.findLast(({ role }) => role === 'user');
      const { kind, deltas, everyMs } = JSON.parse(prompt);
      // The script is truncated, so it fails: the page only shows it.
      const hasWritten = conversation.at(-1).role !== 'user';
      const id = `${answerId}_0`;
      let content = '';
      yield { type: 'response_start' };
      yield { type: 'item_start', item_id: id, item_type: 'message' };
      for await (const delta of TEXTS[kind](hasWritten ? 0 : deltas, everyMs)) {
        if (signal?.aborted === true) break;
        content += delta;
        yield { type: 'item_delta', item_id: id, delta };
      }
      yield { type: 'item_done', item_id: id, final_item: { type: 'message', id, role: 'assistant', content } };
      yield { type: 'response_done', status: 'completed' };
    },
  };
}

const TEXTS = {
  /** Sections with a list and code, as models write them. */
  markdown: (deltas, everyMs) => paced(deltas, everyMs, (number) => markdownPiece(number)),
  /** One fenced block that grows. */
  fence: (deltas, everyMs) =>
    paced(
      deltas,
      everyMs,
      (number) => (number === 0 ? '```ts\n' : `const value${number} = call('§${number}§'); `) + newLine(number, 3),
    ),
  /** One paragraph that grows. */
  plain: (deltas, everyMs) => paced(deltas, everyMs, (number) => `words and more words §${number}§ `),
  script: (deltas, everyMs) =>
    paced(deltas, everyMs, (number) =>
      number === 0 ? '<tool-calls>\n' : `const value${number} = await tools.echo({ text: '§${number}§' });\n`,
    ),
};

const newLine = (number, every) => (number % every === 0 ? '\n' : '');

function markdownPiece(number) {
  const mark = `§${number}§ `;
  const at = number % 40;
  if (at === 0) return `\n\n## A section ${mark}\n\n`;
  if (at < 12) return `some **words** of a sentence ${mark}`;
  if (at === 12) return `\n\n- ${mark}`;
  if (at < 24) return `an item with \`code\` ${mark}\n- `;
  if (at === 24) return `${mark}\n\n\`\`\`ts\n`;
  if (at < 36) return `const value = read('${mark}');\n`;
  if (at === 36) return `// ${mark}\n\`\`\`\n\n`;
  return `and words after it ${mark}`;
}

async function* paced(deltas, everyMs, pieceOf) {
  let next = performance.now();
  for (let number = 0; number < deltas; number += 1) {
    await sleep(Math.max(0, next - performance.now()));
    next += everyMs;
    yield pieceOf(number);
  }
}
