import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, modelReferences } from '#core/agent/index.js';
import { withModelFacts } from '#core/agent/agent-config.js';
import { answerBound } from '#core/agent/answer-room.js';
import {
  createProvider,
  startScriptedServer,
  withFallbacks,
  type ProviderApi,
  type Scenario,
} from '#core/providers/index.js';
import { openWorld, play } from './running.js';

const says = (text: string) => ({ parts: [{ type: 'text', text }], usage: { input_tokens: 1000, output_tokens: 100 } });
const runs = (code: string) => ({
  parts: [{ type: 'script', code }],
  usage: { input_tokens: 1000, output_tokens: 100 },
});
const fails = (status: number, code?: string) => ({ type: 'failure', status, code, message: 'Sorry.' });

async function model(api: ProviderApi, name: string, turns: readonly object[]) {
  const server = await startScriptedServer({ turns: [...turns] as Scenario['turns'] });
  onTestFinished(() => server.close());
  const retries = { maxRetries: 1, baseDelayMs: 1 };
  return { server, provider: createProvider(api, { model: name, baseUrl: server.baseUrl, environment: {}, retries }) };
}

type Model = Awaited<ReturnType<typeof model>>;

async function run(models: readonly Model[], agent: object = {}) {
  const provider = withFallbacks(models.map((one) => one.provider));
  const played = await play(openWorld(), { server: models[0]!.server, provider }, agent);
  const payloads = played.events.map(({ payload }) => payload);
  const moved = payloads.flatMap((payload) =>
    payload.type === 'request_retry' && payload.model !== undefined ? [payload] : [],
  );
  return { payloads, moved, done: payloads.at(-1)!, items: played.response.output_items };
}

describe('a model that cannot answer', () => {
  test.each([
    ['is overloaded', [fails(529, 'overloaded_error'), fails(529, 'overloaded_error')]],
    ['has an error of its own', [fails(500), fails(503)]],
    ['is too busy', [fails(429), fails(429)]],
    ['has no quota left', [fails(429, 'insufficient_quota')]],
    ['is not paid for', [fails(400, 'billing_error')]],
    ['breaks the connection', [{ type: 'drop' }, { type: 'drop' }]],
  ])('and %s leaves the request to the next one, which says so', async (_what, turns) => {
    const first = await model('openai-responses', 'gpt-6.2-sol', turns);
    const second = await model('anthropic-messages', 'claude-sonnet-5-5', [runs('return 3;'), says('Three.')]);
    const { moved, done, items } = await run([first, second]);
    expect(moved).toEqual([expect.objectContaining({ model: 'claude-sonnet-5-5', delay_ms: 0 })]);
    expect(moved[0]!.message).toContain('The model claude-sonnet-5-5 gets the request in place of gpt-6.2-sol.');
    expect(done).toMatchObject({
      status: 'completed',
      usage: { by_model: { 'claude-sonnet-5-5': { output_tokens: 200 } } },
    });
    expect(items.at(-1)).toMatchObject({ content: 'Three.' });
    expect([first, second].map(({ server }) => server.turnsLeft)).toEqual([0, 0]);
  });

  test.each([
    ['a mistake of the request', fails(400)],
    ['an unknown key', fails(401)],
    ['an unknown model', fails(404)],
  ])('because of %s ends the run', async (_what, turn) => {
    const first = await model('openai-chat', 'm', [turn]);
    const second = await model('openai-chat', 'n', [says('Never.')]);
    const { moved, done } = await run([first, second]);
    expect(done).toMatchObject({ status: 'failed' });
    expect(moved).toEqual([]);
    expect(second.server.turnsLeft).toBe(1);
  });

  test('in the middle of its answer does not repeat it elsewhere', async () => {
    const parts = [
      { type: 'text', text: 'I begin' },
      { type: 'error', code: 'overloaded_error', message: 'busy' },
    ];
    const first = await model('anthropic-messages', 'm', [{ parts }]);
    const second = await model('openai-chat', 'n', [says('Never.')]);
    expect((await run([first, second])).done).toMatchObject({ status: 'failed' });
    expect(second.server.turnsLeft).toBe(1);
  });

  test('in the middle of a run leaves a legal conversation to models of other formats', async () => {
    const thinks = {
      parts: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'script', code: 'return 1;' },
      ],
    };
    const first = await model('anthropic-messages', 'claude-sonnet-5-5', [thinks, fails(529), fails(529)]);
    const second = await model('openai-responses', 'gpt-6.2-sol', [runs('return 2;'), fails(503), fails(503)]);
    const third = await model('openai-chat', 'm', [says('Three.')]);
    const { moved, done } = await run([first, second, third]);
    expect(done).toMatchObject({ status: 'completed' });
    expect(moved.map((retry) => retry.model)).toEqual(['gpt-6.2-sol', 'm']);
    for (const { server } of [first, second, third]) expect(server.violations).toEqual([]);
  });

  test('may be an object with state of its own', async () => {
    const { server, provider } = await model('openai-chat', 'm', [fails(503), fails(503)]);
    class Own {
      readonly api = provider.api;
      readonly model = provider.model;
      readonly capabilities = provider.capabilities;
      readonly #asked = provider;
      stream(...request: Parameters<typeof provider.stream>) {
        return this.#asked.stream(...request);
      }
    }
    const second = await model('openai-chat', 'n', [says('Hi.')]);
    const { done } = await run([{ server, provider: new Own() }, second]);
    expect(done).toMatchObject({ status: 'completed' });
  });

  test('and the last of them fail with the failure of the last', async () => {
    const first = await model('openai-chat', 'm', [fails(503), fails(503)]);
    const second = await model('openai-chat', 'n', [fails(500), fails(500)]);
    const { payloads, done } = await run([first, second]);
    expect(done).toMatchObject({ status: 'failed' });
    expect(payloads).toContainEqual(expect.objectContaining({ type: 'response_error', status: 500 }));
  });
});

describe('an agent with fallbacks', () => {
  const provider = { api: 'anthropic-messages', model: 'claude-haiku-5-5', apiKeyEnv: 'MY_KEY' };
  const other = { api: 'openai-responses', model: 'gpt-6.2-sol' };

  test('names models of its provider, and other providers', () => {
    const agent = defineAgent({ slug: 'a', provider, fallbacks: ['claude-sonnet-5-5', other] });
    expect(modelReferences(agent)).toEqual([provider, { ...provider, model: 'claude-sonnet-5-5' }, other]);
    expect(modelReferences(agent, 'claude-opus-5-5')[0]).toMatchObject({ model: 'claude-opus-5-5' });
  });

  test('counts each answer at the prices of its model, and has room for the dearest', async () => {
    const agent = withModelFacts(defineAgent({ slug: 'a', provider, fallbacks: ['gpt-6.2-sol'] }), provider.model);
    expect(agent.prices).toMatchObject({ input: 0.1, models: { 'gpt-6.2-sol': { input: 2, output: 10 } } });
    expect(answerBound(100_000, 0, agent.prices).cost).toBe(0.25);
    const first = await model('anthropic-messages', provider.model, [fails(529), fails(529)]);
    const second = await model('openai-responses', 'gpt-6.2-sol', [says('Hi.')]);
    const { done } = await run([first, second], { prices: agent.prices });
    expect(done).toMatchObject({ cost: (1000 * 2 + 100 * 10) / 1_000_000 });
  });

  test('needs prices for a cost budget if one of its models has none, or another service tier', () => {
    const budget = { slug: 'a', costBudget: 1, provider };
    expect(() => defineAgent({ ...budget, fallbacks: ['claude-sonnet-5-5'] })).not.toThrow();
    expect(() => defineAgent({ ...budget, fallbacks: ['my-model'] })).toThrow('costBudget needs prices');
    const fast = { ...provider, serviceTier: 'priority' };
    expect(() => defineAgent({ ...budget, provider: fast })).toThrow('costBudget needs prices');
  });
});

test('every request asks for the service tier', async () => {
  for (const api of ['openai-responses', 'openai-chat', 'anthropic-messages'] as const) {
    const { server } = await model(api, 'm', [says('Hi.')]);
    const provider = createProvider(api, { model: 'm', baseUrl: server.baseUrl, serviceTier: 'flex', environment: {} });
    await play(openWorld(), { server, provider }, {});
    expect(server.requests).toEqual([expect.objectContaining({ service_tier: 'flex' })]);
  }
});
