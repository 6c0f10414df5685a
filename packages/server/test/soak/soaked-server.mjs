// A server with its default limits, for tenants.mjs: `fork('soaked-server.mjs', [FOLDER, STORE?, EVENTS?])`. The token
// of a request is its principal. The first line of a prompt is the script of its run. Sends its address, and ends with its parent.
import { join } from 'node:path';
import { fileStore } from '@toolscript/core';
import { scriptedModel } from '@toolscript/core/providers';
import { createServer, HarnessAgents } from '@toolscript/server';
import { openDatabase, openEventLog } from '@toolscript/service/stores';

const [folder, store, eventsUrl] = process.argv.slice(2);
const { api, model, capabilities } = scriptedModel({ turns: [] });
const provider = {
  api,
  model,
  capabilities,
  stream: ({ conversation, ...request }, options) => {
    // The rest stays unread, because the model is part of this process.
    const last = conversation.findLastIndex((item) => item.type === 'message' && item.role === 'user');
    const [code] = conversation[last].content.split('\n');
    const results = conversation.slice(last + 1);
    const hasRun = results.some(({ type }) => type === 'script_execution_output');
    const part = hasRun ? { type: 'text', text: 'It has run.' } : { type: 'script', code };
    const scenario = { turns: [{ parts: [part], usage: { input_tokens: 0, output_tokens: 0 } }] };
    const read = [{ ...conversation[last], content: code }, ...results];
    return scriptedModel(scenario).stream({ ...request, conversation: read }, options);
  },
};

const database = await openDatabase(store ?? `libsql:${join(folder, 'toolscript.db')}`);
const events = eventsUrl === undefined ? database.log : await openEventLog(eventsUrl);
const scripts = database.scripts ?? fileStore(join(folder, 'scripts'));
const suspensionKey = 'a secret of more than thirty-two bytes';
const agents = new HarnessAgents({
  agents: [{ slug: 'script', carrier: 'tool' }],
  harness: { tools: [], store: scripts, suspensionKey },
  provider: () => provider,
});
const app = await createServer({
  stores: database.stores,
  events,
  scripts,
  agents,
  auth: { authenticate: (token) => ({ principal: token, scopes: ['read', 'run', 'approve'] }) },
  logger: { level: 'error', stream: process.stderr },
});
await app.listen({ host: '127.0.0.1', port: 0 });
process.send(`http://127.0.0.1:${app.server.address().port}`);
process.once('disconnect', () => process.exit());
