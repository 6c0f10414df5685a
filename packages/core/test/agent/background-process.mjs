// A run that waits for a background answer: `node background-process.mjs <base URL>`. It writes its events to stdout as
// lines of JSON, as a host stores them.
import { writeSync } from 'node:fs';
import { runAgent } from '#core/agent/index.js';
import { createHarness } from '#core/index.js';
import { createProvider } from '#core/providers/index.js';

const [baseUrl] = process.argv.slice(2);
const provider = createProvider('openai-responses', {
  model: 'model-1',
  baseUrl,
  environment: {},
  responses: { background: true },
});
const harness = createHarness({ tools: [], typecheck: 'off' });
for await (const event of runAgent({ provider, harness, agent: { slug: 'tester' }, input: 'Go.' }))
  writeSync(1, `${JSON.stringify(event)}\n`);
