import { expect, test } from 'vitest';
import { usageCost } from '#core/agent/index.js';
import { answerBound, answerRoom } from '#core/agent/answer-room.js';
import { RunAccount, SaidText } from '#core/agent/run-account.js';
import { RunBudget } from '#core/agent/run-budget.js';
import { encodeChat } from '#core/providers/openai-chat/encode.js';
import { encodeResponses } from '#core/providers/openai-responses/encode.js';
import { createProvider } from '#core/providers/index.js';
import { createPrompt } from '#core/providers/prompt.js';
import type { EventPayload, ModelRequest } from '#core/protocol/index.js';
import { modelFacts } from '#core/protocol/known-models.js';

const haiku = modelFacts('claude-haiku-5-5').prices!;
const sol = modelFacts('gpt-6.2-sol').prices!;
const MILLION = 1_000_000;

test('a request costs the prices of its length as a whole', () => {
  const usage = (input_tokens: number) => ({ input_tokens, output_tokens: 1000 });
  expect(usageCost(usage(272_000), sol)).toBeCloseTo((272_000 * 2 + 1000 * 10) / MILLION, 9);
  expect(usageCost(usage(272_001), sol)).toBeCloseTo((272_001 * 4 + 1000 * 15) / MILLION, 9);
  const cached = { input_tokens: 1000, output_tokens: 0, cache_read_tokens: 100_000, total_tokens: 101_000 };
  expect(usageCost(cached, haiku)).toBeCloseTo((1000 * 0.5 + 100_000 * 0.05) / MILLION, 9);
});

test('a budget has room for the prices of a long input', () => {
  const budget = new RunBudget({ cost: 1 });
  expect(answerBound(272_001, 1000, sol).cost).toBeCloseTo((272_001 * 5 + 1000 * 15) / MILLION, 9);
  expect(answerRoom(budget, 272_001, sol)).toBeLessThan(0);
  expect(answerRoom(budget, 90_000, haiku)).toBeGreaterThan(1_000_000);
});

test('a run adds the costs of its requests, however long they are together', () => {
  const payloads: EventPayload[] = [];
  const emit = (payload: EventPayload): void => void payloads.push(payload);
  const account = new RunAccount({ agent: { prices: haiku }, budget: new RunBudget({}), isStrict: false, emit });
  const request: ModelRequest = { conversation: [] };
  for (let count = 0; count < 3; count += 1) {
    account.countedPayload({ type: 'usage_update', usage: { input_tokens: 60_000, output_tokens: 0 } });
    const said = new SaidText();
    said.take({ type: 'response_done', status: 'completed' });
    account.endAnswer(request, said, undefined);
  }
  expect(account.totals.cost).toBeCloseTo((3 * 60_000 * 0.1) / MILLION, 9);
});

const conversation = [{ type: 'message' as const, id: 'm', role: 'user' as const, content: 'Go' }];
const mark = { prompt_cache_breakpoint: { mode: 'explicit' } };

test.each([
  ['gpt-6.2-sol', true, {}, true],
  ['gpt-5.6-luna', true, {}, true],
  ['gpt-5.5', true, {}, false],
  ['gpt-6.2-sol', false, {}, false],
  ['gpt-6.2-sol', true, { promptCache: { marks: false } }, false],
])('the system text of %s marks the end of the shared beginning (%s, %j): %s', async (model, offered, more, marked) => {
  const prompt = (api: string) => createPrompt(api, model, { conversation, system: 'Be brief.', ...more });
  const settings = { cacheBreakpoints: offered };
  const responses = encodeResponses(await prompt('openai-responses'), settings);
  const chat = encodeChat(await prompt('openai-chat'), settings);
  const text = { text: 'Be brief.', ...mark };
  expect(responses.instructions).toBe(marked ? undefined : 'Be brief.');
  expect(responses.input[0]).toMatchObject(
    marked ? { role: 'developer', content: [{ type: 'input_text', ...text }] } : { role: 'user' },
  );
  expect(chat.messages[0]).toEqual({ role: 'system', content: marked ? [{ type: 'text', ...text }] : 'Be brief.' });
});

test.each([
  [undefined, true],
  ['https://r.openai.azure.com/openai/v1', false],
  ['https://gateway.example/v1', false],
])('only OpenAI itself gets the mark (%s)', async (baseUrl, marked) => {
  for (const api of ['openai-responses', 'openai-chat'] as const) {
    let body = '';
    const fetch = async (_url: string | URL, init?: { body?: unknown }) => {
      body = String(init?.body);
      return new Response('{}', { status: 400 });
    };
    const options = { model: 'gpt-6.2-sol', baseUrl, environment: {}, retries: { maxRetries: 0 }, fetch };
    for await (const _ of createProvider(api, options).stream({ conversation, system: 'Be brief.' }));
    expect(body.includes('prompt_cache_breakpoint')).toBe(marked);
  }
});
