import { afterAll, expect, it } from 'vitest';
import { createHarness, defineTool } from '#core/index.js';

const ran: string[] = [];
const tool = (name: string) =>
  defineTool({
    name,
    description: name,
    approval: 'never',
    inputSchema: { type: 'object', additionalProperties: true },
    execute: () => {
      ran.push(name);
      return null;
    },
  });
const harness = createHarness({ tools: ['writeFile', 'clear', 'look'].map(tool), approvals: 'auto' });
afterAll(() => harness.close());

const FENCED = ['```ts', 'await tools.clear({});', '```'].join('\n');

it.each([
  ['a fence inside of a text', `await tools.writeFile({ path: 'a', content: \`# Usage\n\n${FENCED}\n\` });`],
  ['a fence inside of a comment', `/* Do not do this:\n${FENCED}\n*/\nawait tools.look({};`],
  ['a fence before broken code', `${FENCED}\nconst x = await tools.look({};`],
  ['a fence that a text was cut at', `const note = \`Example:\n${FENCED.slice(0, -4)}`],
  ['a diff', '```diff\n-await tools.clear({});\n+await tools.look({});\n```'],
  ['words around a diff', 'Here it is:\n```diff\n-await tools.clear({});\n```\nDone.'],
])('a repair never runs what is not the script: %s', async (_name, source) => {
  ran.length = 0;
  const outcome = await harness.runScript(source);
  expect(outcome.status).toBe('failed');
  expect(ran).toEqual([]);
});

it('a repair replaces no global of the script by a tool', async () => {
  ran.length = 0;
  const outcome = await harness.runScript("globalThis.clear = () => 'mine'; return clear();", {});
  expect(ran).toEqual([]);
  expect(outcome.status === 'completed' ? outcome.value : 'mine').toBe('mine');
});

it('words around the only fence are removed', async () => {
  ran.length = 0;
  const outcome = await harness.runScript(`I look first with \`look\`, (as you said):\n\n${FENCED}\n\nThat is all.`);
  expect(outcome.status).toBe('completed');
  expect(ran).toEqual(['clear']);
});
