import { importablePeer } from '../contenders/peers.mjs';

const { createRunner } = await import(importablePeer('run'));

const imported = performance.now();
const runner = createRunner();
const { value } = await runner.run({
  source: 'return (await tools.echo({ i: 41 })).i + 1',
  hostFunctions: { tools: { echo: async (input) => input } },
});
const outcomeMs = performance.now() - imported;
console.log(JSON.stringify({ value, outcomeMs, importedMs: imported }));
