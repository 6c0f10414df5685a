// Another process, maybe a month later. It knows nothing but the store.
import { listScripts } from '@toolscript/core';
import { openHarness, store } from './harness.mjs';

const harness = openHarness();
const [{ scriptId }] = await listScripts(store);
const { suspension, pendingApprovals } = await harness.inspect(scriptId);
const decisions = {};
for (const { approvalId, input } of pendingApprovals)
  decisions[approvalId] = input.cents > 50_000 ? { decision: 'deny', note: 'too much' } : 'approve';
const outcome = await harness.resume(suspension, decisions);
console.log(outcome.value);
const again = await harness.resume(suspension, decisions);
console.log(again.error.message);
await store.journal.delete(scriptId);
await harness.close();
