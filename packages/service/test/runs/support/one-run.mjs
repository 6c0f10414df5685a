// One run in a thread: `node one-run.mjs URL THREAD`. Prints the state of the run at its end.
import { setTimeout as delay } from 'node:timers/promises';
import { createHarness, memoryStore } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import { isFinalRunState } from '@toolscript/core/internal';
import { scriptedModel } from '@toolscript/core/providers';
import { fixedAgents, ownOwner, RunWorker, StoreProbe } from '@toolscript/service';
import { openEventLog, openStores } from '@toolscript/service/stores';

const [url, threadId] = process.argv.slice(2);
const stores = await openStores(url);
const log = await openEventLog(url);
const scripts = memoryStore();
const harness = createHarness({ typecheck: 'off', tools: [], store: scripts });
const agent = defineAgent({ slug: 'tester', mode: 'disabled' });
const provider = scriptedModel({ turns: [{ parts: [{ type: 'text', text: 'Hello.' }] }] });
const served = { config: agent, capability: harness.capability, open: async () => ({ agent, harness, provider }) };
const worker = new RunWorker({
  stores,
  log,
  scripts,
  probe: new StoreProbe({ stores, log, scripts }),
  agents: fixedAgents([served]),
  owner: ownOwner(),
  size: 1,
  onFault: (error) => console.error(error),
});
worker.start();
const input = [{ type: 'message', id: 'prompt_last', role: 'user', content: 'And now?' }];
const { run } = await stores.runs.create({
  principal: 'ada',
  thread: { threadId },
  input,
  options: { agentId: 'tester' },
});
let { state } = run;
while (!isFinalRunState(state)) {
  await delay(50);
  ({ state } = await stores.runs.get(run.runId));
}
await worker.drain(0);
await harness.close();
await log.close();
await stores.close();
process.stdout.write(state);
