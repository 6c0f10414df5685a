import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runAgent, type AgentInput } from '#core/agent/index.js';
import { scriptedModel, type Scenario } from '#core/providers/index.js';
import type { OutputItem } from '#core/protocol/index.js';
import { APIS, collectRun, expectStablePrefixes, openWorld } from './running.js';

type Turn = Scenario['turns'][number];
type Part = Extract<Turn, { parts: unknown }>['parts'][number];

const text = fc.constantFrom(
  'Well. ',
  'a < b\n',
  '`<tool-calls>` is a tag.\n',
  '😀\n\n',
  '<think>hm</think>',
  '</tool-calls>',
  '```ts\n1\n```\n',
);
const code = fc.constantFrom(
  "return await tools.note({ text: 'x' });",
  'return (await tools.add({ a: 1, b: 2 })).sum;',
  'return await tools.fail({});',
  'return nonsense(',
  "return '</tool-calls>';",
);
const part: fc.Arbitrary<Part> = fc.oneof(
  { weight: 3, arbitrary: text.map((said) => ({ type: 'text' as const, text: said })) },
  { weight: 3, arbitrary: code.map((source) => ({ type: 'script' as const, code: source })) },
  { weight: 1, arbitrary: fc.constantFrom('because', '').map((said) => ({ type: 'reasoning' as const, text: said })) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Part>(
      { type: 'call', name: 'note', arguments: { text: 'called' } },
      { type: 'call', name: 'note', arguments: { wrong: 1 } },
      { type: 'call', name: 'fail', arguments: {} },
    ),
  },
);
const turns = fc.array(fc.array(part, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 });
const agents = fc.constantFrom<Partial<AgentInput>>(
  { carrier: 'tool' },
  { carrier: 'custom' },
  { carrier: 'text' },
  { carrier: 'text', afterScript: 'continue' },
  { carrier: 'text', afterScript: 'continue', continueOnError: true },
  { carrier: 'text', mode: 'disabled' },
  { carrier: 'tool', mode: 'dry-run' },
);

test.each(APIS)('%s: whatever a model writes, requests follow the rules of its format and only grow', async (api) => {
  const world = openWorld({ typecheck: 'off' });
  await world.harness.warm();
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(turns, agents, fc.integer({ min: 1, max: 40 }), async (scenes, agent, delta_length) => {
      const last = { parts: [{ type: 'text' as const, text: 'The end.' }] };
      // Chat marks reasoning as complete only at the end of the answer: clients cannot send back reasoning of a
      // stopped answer.
      const isSaid = ({ type }: Part) => !(api === 'openai-chat' && stops(agent) && type === 'reasoning');
      const said = scenes.map((parts) => parts.filter(isSaid)).filter((parts) => parts.length > 0);
      const scenario = { turns: [...said.map((parts) => ({ parts })), last, last, last, last], delta_length };
      const model = scriptedModel(scenario, { api, retries: { maxRetries: 0 } });
      let history: readonly OutputItem[] = [];
      for (const input of ['Begin.', 'Go on.']) {
        const options = {
          provider: model,
          harness: world.harness,
          agent: { slug: 'a', functions: 'all' as const, ...agent },
        };
        const run = runAgent({ ...options, input, history, threadId: 'thr_laws' });
        const played = await collectRun(run, history);
        expect(model.violations).toEqual([]);
        expect(played.response.status).toBe('completed');
        ({ history } = played);
      }
      asked += model.requests.length;
      expectStablePrefixes({ server: model });
    }),
    { numRuns: 40, interruptAfterTimeLimit: 25_000, markInterruptAsFailure: false },
  );
  expect(asked).toBeGreaterThan(20);
});

function stops({ carrier, afterScript, mode }: Partial<AgentInput>): boolean {
  return carrier === 'text' && afterScript !== 'continue' && mode !== 'disabled';
}
