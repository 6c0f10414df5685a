// The laws that a runtime must hold to run the library, each through the public names alone. Prints a line for each law
// that fails, and the number of those that hold.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createHarness, defineTool, fileStore, listScripts } from '@toolscript/core';
import { extendHistory, runAgent } from '@toolscript/core/agent';
import { foldResponse } from '@toolscript/core/history';
import { createProvider, scriptedModel } from '@toolscript/core/providers';

const readWeather = defineTool({
  name: 'readWeather',
  description: 'Current weather of a city',
  input: z.object({ city: z.string() }),
  output: z.object({ celsius: z.number() }),
  effect: 'read',
  execute: async ({ city }) => {
    await sleep(5);
    return { celsius: city === 'Oslo' ? 21 : 25 };
  },
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays an invoice',
  input: z.object({ invoice: z.number() }),
  effect: 'external',
  approval: 'always',
  execute: ({ invoice }) => ({ paid: invoice }),
});
const PARALLEL = `const all = await Promise.all(['Oslo', 'Rome'].map((city) => tools.readWeather({ city })));
console.log(all.length);
return all.map(({ celsius }) => celsius);`;

const LAWS = {
  'a script calls tools side by side': async () => {
    const outcome = await withHarness({}, (harness) => harness.runScript(PARALLEL));
    equal([outcome.status, outcome.value, outcome.operations.length], ['completed', [21, 25], 2]);
  },
  'a wrong type is refused before anything runs': async () => {
    const code = 'const { celsius } = await tools.readWeather({ city: "Oslo" });\nreturn celsius.toUpperCase();';
    const outcome = await withHarness({}, (harness) => harness.runScript(code));
    equal([outcome.status, outcome.error?.code, outcome.operations.length], ['failed', 'ScriptTypeError', 0]);
  },
  'an endless loop ends at its limit, and the next script runs': async () => {
    await withHarness({}, async (harness) => {
      const outcome = await harness.runScript('for (;;) {}', { limits: { computeMs: 300 } });
      equal([outcome.status, outcome.error?.code], ['failed', 'ScriptTimeoutError']);
      equal((await harness.runScript('return 1')).value, 1);
    });
  },
  'a script that fills its memory ends at its limit': async () => {
    const code = 'const all = []; for (;;) all.push("x".repeat(100_000) + all.length);';
    const outcome = await withHarness({}, (harness) => harness.runScript(code));
    equal([outcome.status, outcome.error?.code], ['failed', 'ScriptMemoryError']);
  },
  'a script reaches nothing of the host': async () => {
    const code = 'return [typeof process, typeof require, typeof Deno, typeof Bun, typeof fetch];';
    const outcome = await withHarness({ typecheck: 'off' }, (harness) => harness.runScript(code, { language: 'js' }));
    equal(
      outcome.value?.filter((kind) => kind !== 'undefined' && kind !== 'function'),
      [],
    );
    equal(outcome.value?.slice(0, 4), ['undefined', 'undefined', 'undefined', 'undefined']);
  },
  'a script waits for a decision in a store, and continues in another harness': async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolscript-runtime-'));
    const options = { store: fileStore(folder), suspensionKey: 'a key for this program alone, 32 bytes' };
    try {
      const first = await withHarness(options, (harness) =>
        harness.runScript('return await tools.pay({ invoice: 7 })'),
      );
      equal(first.status, 'suspended');
      const [{ scriptId }] = await listScripts(options.store);
      const outcome = await withHarness(options, async (harness) => {
        const { suspension, pendingApprovals } = await harness.inspect(scriptId);
        return harness.resume(suspension, { [pendingApprovals[0].approvalId]: 'approve' });
      });
      equal([outcome.status, outcome.value], ['completed', { paid: 7 }]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  'a streamed answer runs its script, and its events fold': async () => {
    const events = [];
    async function* deltas() {
      for (const part of ['I ask.\n<tool-', `calls>\n${PARALLEL}\n</tool`, '-calls>\n']) yield part;
    }
    await withHarness({}, async (harness) => {
      for await (const event of harness.processText(deltas())) events.push(event);
    });
    const items = foldResponse(events).output_items;
    equal(items.find(({ type }) => type === 'script_execution_output')?.output_json, '[21,25]');
  },
  'an agent asks a model, runs its script and answers': async () => {
    const script = { type: 'script', code: PARALLEL };
    const provider = scriptedModel({ turns: [{ parts: [script] }, { parts: [{ type: 'text', text: 'Mild.' }] }] });
    const events = await agentEvents(provider);
    const items = extendHistory([], events);
    equal(items.at(-1)?.content, 'Mild.');
  },
  'an unreachable model is reported, not thrown': async () => {
    const baseUrl = 'http://127.0.0.1:9/v1';
    const provider = createProvider('openai-responses', { model: 'a-model', apiKey: 'none', baseUrl, maxRetries: 0 });
    const events = await agentEvents(provider);
    equal(events.at(-1)?.payload.status, 'failed');
  },
};

async function agentEvents(provider) {
  const events = [];
  await withHarness({}, async (harness) => {
    const run = { provider, harness, agent: { slug: 'helper' }, input: 'How warm is it?' };
    for await (const event of runAgent(run)) events.push(event);
  });
  return events;
}

async function withHarness(options, use) {
  const harness = createHarness({ tools: [readWeather, pay], ...options });
  try {
    return await use(harness);
  } finally {
    await harness.close();
  }
}

function equal(found, wanted) {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`found ${left}, wanted ${right}`);
}

const names = Object.keys(LAWS);
let held = 0;
for (const name of names)
  try {
    await LAWS[name]();
    held += 1;
  } catch (error) {
    console.log(`${name}: ${error.stack ?? error}`);
  }
console.log(`${held} of ${names.length} laws hold`);
