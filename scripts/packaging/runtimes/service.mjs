// A server and its client in one process: a run that waits for an approval, with each kind of store that the command
// names. Prints the answers. `--listen`: prints the address, and serves one run in memory to another program.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { createClient } from '@toolscript/client';
import { defineTool } from '@toolscript/core';
import { scriptedModel } from '@toolscript/core/providers';
import { createServer } from '@toolscript/server';

const refund = defineTool({
  name: 'refund',
  description: 'Pays an amount back',
  input: z.object({ euros: z.number() }),
  effect: 'external',
  approval: 'always',
  execute: ({ euros }) => ({ paid: euros }),
});
const token = 'a-token-of-this-program';

function openServer(stores) {
  const model = scriptedModel({
    turns: [
      { parts: [{ type: 'script', code: 'return await tools.refund({ euros: 12.5 });' }] },
      { parts: [{ type: 'text', text: 'It is paid back.' }] },
    ],
  });
  const agents = [{ slug: 'accountant', description: 'Pays back' }];
  return createServer({ stores, harness: { tools: [refund] }, agents, provider: () => model, auth: { token } });
}

async function answer(stores) {
  const server = await openServer(stores);
  try {
    const client = createClient({ baseUrl: await server.listen({ host: '127.0.0.1', port: 0 }), token });
    const { runId, threadId } = await client.submit({ prompt: 'Invoice 7 was paid twice.' });
    for await (const { payload } of client.stream(runId))
      for (const approvalId of payload.approval_ids ?? [])
        await client.approvals.decide(approvalId, { decision: 'approve' });
    const { items, runs } = await client.threads.get(threadId);
    return `${runs[0].status}: ${items.at(-1).content}`;
  } finally {
    await server.close();
  }
}

const kinds = process.argv.slice(2);
if (kinds.includes('--listen')) {
  const server = await openServer('memory:');
  console.log(JSON.stringify({ baseUrl: await server.listen({ host: '127.0.0.1', port: 0 }), token }));
} else {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-runtime-'));
  const stores = { memory: 'memory:', file: `libsql:${join(folder, 'service.db')}` };
  for (const kind of kinds) console.log(`${kind} ${await answer(stores[kind])}`);
  rmSync(folder, { recursive: true });
}
