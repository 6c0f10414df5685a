import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { defineTool } from '@toolscript/core';
import { createServer, nodeHandler } from '@toolscript/server';
import { pageFolder } from '@toolscript/web';
import express from 'express';
import { z } from 'zod';

const stock: Record<string, number> = { tea: 12, coffee: 3 };

const readStock = defineTool({
  name: 'readStock',
  description: 'How many of each thing there are',
  input: z.object({}),
  output: z.record(z.string(), z.number()),
  effect: 'read',
  approval: 'never',
  execute: () => stock,
});

const orderMore = defineTool({
  name: 'orderMore',
  description: 'Orders more of a thing',
  input: z.object({ name: z.string(), count: z.number().int().positive() }),
  output: z.object({ ordered: z.number() }),
  effect: 'external', // the user is asked, on the page
  execute: ({ count }) => ({ ordered: count }),
});

const { ANTHROPIC_API_KEY, OPENAI_API_KEY, PORT = '3000', TOOLSCRIPT_TOKEN: token = randomUUID() } = process.env;
const provider = ANTHROPIC_API_KEY
  ? ({ api: 'anthropic-messages', model: 'claude-sonnet-5-5', apiKeyEnv: 'ANTHROPIC_API_KEY' } as const)
  : ({ api: 'openai-responses', model: 'gpt-6.2-sol', apiKeyEnv: 'OPENAI_API_KEY' } as const);
const hasKey = Boolean(ANTHROPIC_API_KEY || OPENAI_API_KEY);

const agents = await createServer({
  stores: 'libsql:data/toolscript.db',
  harness: { tools: [readStock, orderMore] },
  agents: hasKey ? [{ slug: 'storekeeper', description: 'Knows the stock and orders more', provider }] : [],
  demo: !hasKey, // a scripted model, which needs no key
  auth: { token },
  page: pageFolder,
  basePath: '/agents',
});

const app = express();
app.use('/agents', nodeHandler(agents));
app.get(
  '/',
  (_request, response) => void response.send('Your own page. The agents are at <a href="/agents/">/agents</a>.'),
);

const listener = app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error !== undefined) throw error;
  const { port } = listener.address() as AddressInfo;
  console.log(`http://127.0.0.1:${port}/agents/#token=${token}`);
  if (!hasKey) console.log('No key is set, so the agent is a demo. Set ANTHROPIC_API_KEY or OPENAI_API_KEY.');
});
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void stop());

async function stop() {
  listener.close();
  await agents.close();
  process.exit();
}
