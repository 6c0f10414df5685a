import { expect, test } from 'vitest';
import { runAgent, type AgentInput } from '#core/agent/index.js';
import { createProvider } from '#core/providers/index.js';
import { headerRateLimits } from '#core/providers/transport/failures.js';
import type { EventPayload } from '#core/protocol/index.js';
import { streamOf } from '../providers/wire-text.js';
import { openWorld } from './running.js';

const usage = (input: number, output: number) => ({ prompt_tokens: input, completion_tokens: output });

const chunk = (delta: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});

const call = { index: 0, id: 'call_1', function: { name: 'add', arguments: '{"a":1,"b":2}' } };

const ANSWERS = [
  streamOf(
    chunk({ tool_calls: [call] }),
    { ...chunk({}, { finish_reason: 'tool_calls' }), usage: usage(100, 10) },
    '[DONE]',
  ),
  streamOf(
    chunk({ content: 'It is 3.' }),
    { ...chunk({}, { finish_reason: 'stop' }), usage: usage(200, 20) },
    '[DONE]',
  ),
];

async function run(bodies: readonly string[], agent: Partial<AgentInput> = {}): Promise<EventPayload[]> {
  let asked = 0;
  const provider = createProvider('openai-chat', {
    model: 'model-1',
    environment: {},
    retries: { maxRetries: 0 },
    fetch: async () => {
      asked += 1;
      const headers = { 'x-request-id': `req_${asked}`, 'x-ratelimit-remaining-tokens': `${1000 - asked}` };
      return new Response(bodies[asked - 1], { headers });
    },
  });
  const payloads: EventPayload[] = [];
  const { harness } = openWorld();
  const events = runAgent({ provider, harness, agent: { slug: 'tester', functions: 'all', ...agent }, input: 'Add.' });
  for await (const { payload } of events) payloads.push(payload);
  return payloads;
}

const ofType = (payloads: readonly EventPayload[], type: string) => payloads.filter((payload) => payload.type === type);

test('each request tells its tokens, its cost and what is left of limits, and the run tells the sums', async () => {
  const payloads = await run(ANSWERS, { prices: { input: 10_000, output: 100_000 } });
  expect(ofType(payloads, 'request_done')).toMatchObject([
    {
      usage: { input_tokens: 100, output_tokens: 10 },
      cost: 2,
      request_id: 'req_1',
      rate_limits: [{ name: 'tokens', remaining: 999 }],
    },
    {
      usage: { input_tokens: 200, output_tokens: 20 },
      cost: 4,
      request_id: 'req_2',
      rate_limits: [{ name: 'tokens', remaining: 998 }],
    },
  ]);
  expect(ofType(payloads, 'response_done')).toMatchObject([
    { usage: { input_tokens: 300, output_tokens: 30 }, cost: 6 },
  ]);
});

test('without prices no cost is reported', async () => {
  const payloads = await run(ANSWERS);
  expect(ofType(payloads, 'request_done')).toHaveLength(2);
  expect(payloads.filter((payload) => 'cost' in payload && payload.cost !== undefined)).toEqual([]);
});

test('a request whose provider counts nothing is estimated, and marked', async () => {
  const silent = [streamOf(chunk({ content: 'Hi.' }), chunk({}, { finish_reason: 'stop' }), '[DONE]')];
  expect(ofType(await run(silent), 'request_done')).toMatchObject([{ usage: { estimated: true } }]);
});

test('the headers of both providers are read, and others ignored', () => {
  const openAi = {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1s',
    'x-ratelimit-limit-tokens': 'many',
    'x-ratelimit': '1',
  };
  expect(headerRateLimits(new Headers(openAi))).toEqual([{ name: 'requests', limit: 60, remaining: 59, reset: '1s' }]);
  const anthropic = {
    'anthropic-ratelimit-input-tokens-remaining': '7',
    'anthropic-ratelimit-input-tokens-reset': '2026-11-24T12:00:00Z',
    'anthropic-ratelimit-requests-limit': '50',
  };
  expect(headerRateLimits(new Headers(anthropic))).toEqual([
    { name: 'input-tokens', remaining: 7, reset: '2026-11-24T12:00:00Z' },
    { name: 'requests', limit: 50 },
  ]);
});
