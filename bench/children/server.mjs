// Runs a server with an agent whose model writes a text in chunks. The parent process sends requests as messages. Its
// argument is JSON: { token, workers, store, events, roles }. Without a store, it has a file for itself.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHarness, fileStore } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import { createServer, demoAgent, fixedAgents } from '@toolscript/server';
import { openDatabase, openEventLog } from '@toolscript/service/stores';

const { token, workers, store, events: eventsUrl, roles } = JSON.parse(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-'));
const database = await openDatabase(store ?? `libsql:${join(folder, 'service.db')}`);
const scripts = database.scripts ?? fileStore(join(folder, 'scripts'));
const demo = demoAgent({ store: scripts, suspensionKey: 'a key of the benchmark, 32 bytes or more' });
const talkerHarness = createHarness({ tools: [] });
const config = defineAgent({ slug: 'talker', carrier: 'text', provider: { api: 'scripted', model: 'talker' } });
const talker = { config, open: async () => ({ agent: config, provider: talkingModel(), harness: talkerHarness }) };
const agents = fixedAgents([demo, talker]);
const { stores } = database;
const events = eventsUrl === undefined ? database.log : await openEventLog(eventsUrl);
const app = await createServer({
  stores,
  events,
  scripts,
  agents,
  auth: { token },
  workers,
  limits: { streamsPerPrincipal: 10_000 },
  ...(roles === undefined ? {} : { roles }),
});
const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });

const plain = createHttpServer((request, response) => void talkPlainly(request, response));
await new Promise((resolve) => plain.listen(0, '127.0.0.1', resolve));
process.on('message', (question) => void answer(question));
// The channel disconnects even if the parent was killed.
process.once('disconnect', () => process.exit());
process.send({ baseUrl, plainUrl: `http://127.0.0.1:${plain.address().port}` });

async function answer(question) {
  if (question === 'memory') return process.send({ bytes: await usedBytes() });
  if (question === 'cpu') return process.send({ cpu: process.cpuUsage() });
  plain.close();
  await app.close();
  await Promise.all([demo.close(), talkerHarness.close(), events.close(), database.close()]);
  rmSync(folder, { recursive: true });
  return process.disconnect();
}

/** The memory of V8 and its buffers after a full collection. */
async function usedBytes() {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc();
    await sleep(50);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The prompt names the number of deltas, and the ms between them. */
function talkingModel() {
  return {
    api: 'openai-responses',
    model: 'talker',
    capabilities: { stopSequences: true, customTools: false },
    async *stream({ conversation }, { answerId = 'answer', signal } = {}) {
      const { deltas, everyMs } = JSON.parse(conversation.findLast(({ role }) => role === 'user').content);
      const id = `${answerId}_0`;
      let content = '';
      yield { type: 'response_start' };
      yield { type: 'item_start', item_id: id, item_type: 'message' };
      for await (const delta of talk(deltas, everyMs)) {
        if (signal?.aborted === true) break;
        content += delta;
        yield { type: 'item_delta', item_id: id, delta };
      }
      yield { type: 'item_done', item_id: id, final_item: { type: 'message', id, role: 'assistant', content } };
      yield { type: 'response_done', status: 'completed' };
    },
  };
}

/** The same deltas from the same process as server-sent events, without agent, store and log. */
async function talkPlainly({ url }, response) {
  const { deltas, everyMs } = JSON.parse(decodeURIComponent(url.slice(1)));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for await (const delta of talk(deltas, everyMs)) response.write(`event: item_delta\ndata: ${delta}\n\n`);
  response.end('event: response_done\ndata: "completed"\n\n');
}

/** Each delta contains the time at which it was emitted. */
async function* talk(deltas, everyMs) {
  let next = performance.now() + Math.random() * everyMs;
  for (let index = 0; index < deltas; index += 1) {
    await sleep(Math.max(0, next - performance.now()));
    next += everyMs;
    yield `<${performance.timeOrigin + performance.now()}> `;
  }
}
