// No user can be asked here, so the script is suspended at its current await.
import { openHarness } from './harness.ts';

const harness = openHarness();
const outcome = await harness.runScript(`
const due = new Map([[7, 1250], [8, 99_000]]);
const paid = await Promise.allSettled([...due].map(([invoice, cents]) => tools.pay({ invoice, cents })));
return paid.map(({ value, reason }) => (value ? 'paid ' + value.cents : reason.message));
`);
console.log(outcome.status);
if (outcome.status === 'suspended') {
  for (const { rendered, line } of outcome.pendingApprovals)
    console.log(`line ${line}: ${rendered.split('\n').at(-1)}`);
}
await harness.close();
