// Another process, maybe a month later. It knows nothing but the store.
import { listScripts, type Decisions } from '@toolscript/core';
import { openHarness, store } from './harness.ts';

const [script] = await listScripts(store);
if (script === undefined) throw new Error('Nothing is suspended. Run ask.ts first.');
const { scriptId } = script;

const harness = openHarness();
const details = await harness.inspect(scriptId);
if (details?.suspension === undefined) throw new Error('The script is not suspended.');
const { suspension, pendingApprovals } = details;

const decisions: Decisions = Object.fromEntries(
  pendingApprovals.map(({ approvalId, input }) => {
    const { cents } = input as { cents: number };
    return [approvalId, cents > 50_000 ? { decision: 'deny', note: 'too much' } : 'approve'];
  }),
);
const outcome = await harness.resume(suspension, decisions);
console.log(outcome.value);

const again = await harness.resume(suspension, decisions);
if (again.status === 'failed') console.log(again.error.message);

await store.journal.delete(scriptId);
await harness.close();
