import { describe, expect, test } from 'vitest';
import { createProvider, type ProviderApi, type ProviderOptions } from '#core/providers/index.js';
import { secretHeaders } from '#core/providers/transport/redact.js';
import { runAgent } from '#core/agent/index.js';
import type { EventPayload } from '#core/protocol/index.js';
import { openWorld } from '../agent/running.js';
import { APIS, FakeClock, payloadsOf, user } from './asking.js';
import { OWN_STREAMS } from './own-streams.js';
import { streamOf } from './wire-text.js';

const REQUEST = { conversation: [user('Go')] };

type Wire = Record<string, unknown>;

const OPENING: Readonly<Record<ProviderApi, object[]>> = {
  'openai-responses': [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } },
    { type: 'response.in_progress', response: { id: 'resp_1', status: 'in_progress' } },
  ],
  'openai-chat': [{ id: 'chatcmpl-1', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }],
  'anthropic-messages': [
    { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: 'ping' },
  ],
};

const errorEvent = (api: ProviderApi, error: object): object =>
  api === 'openai-chat' ? { error } : { type: 'error', error };

const wholeOf = (api: ProviderApi): string => Object.values(OWN_STREAMS[api])[0]!;

function over(api: ProviderApi, bodies: readonly (string | Response)[], options: Partial<ProviderOptions> = {}) {
  let asked = 0;
  const clock = new FakeClock((ms) => ms < 100_000);
  const provider = createProvider(api, {
    model: 'model-1',
    environment: {},
    clock,
    fetch: async () => {
      const body = bodies[asked];
      asked += 1;
      if (body === undefined) throw new Error('Nobody expected this request.');
      const headers = { 'x-request-id': `req_${asked}`, 'retry-after-ms': '70' };
      return typeof body === 'string' ? new Response(body, { headers }) : body;
    },
    ...options,
  });
  return { provider, clock, asked: () => asked };
}

const named = (payloads: readonly EventPayload[], type: string): Wire[] =>
  payloads.filter((payload) => payload.type === type) as Wire[];

describe.each(APIS)('%s', (api) => {
  test.each([
    ['overloaded_error', { type: 'overloaded_error', message: 'Busy.' }],
    ['529', { code: 529, message: 'Busy.' }],
    ['503', { code: '503', message: 'Busy.' }],
    ['429', { code: 429, message: 'Busy.' }],
  ])('an answer that begins and fails with %s is asked for again, and the user learns of it', async (code, error) => {
    const { provider, asked } = over(api, [streamOf(...OPENING[api], errorEvent(api, error)), wholeOf(api)]);
    const payloads = await payloadsOf(provider, REQUEST);
    expect(asked()).toBe(2);
    expect(named(payloads, 'request_retry')).toEqual([
      {
        type: 'request_retry',
        code,
        message: 'Busy.',
        status: 200,
        request_id: 'req_1',
        retryable: true,
        attempts: 1,
        retry_after_ms: 70,
        delay_ms: 70,
      },
    ]);
    expect(named(payloads, 'response_start')).toHaveLength(1);
    expect(named(payloads, 'response_done')).toMatchObject([{ status: 'completed' }]);
  });

  test.each([
    { code: 400, message: 'Wrong.' },
    { code: 429, type: 'insufficient_quota', message: 'Pay.' },
  ])('an answer that begins and fails for good is not asked for again: %j', async (error) => {
    const { provider, asked } = over(api, [streamOf(...OPENING[api], errorEvent(api, error))]);
    const payloads = await payloadsOf(provider, REQUEST);
    expect(asked()).toBe(1);
    expect(named(payloads, 'response_error')).toMatchObject([{ retryable: false, attempts: 1, request_id: 'req_1' }]);
  });

  test('a run reports a failure with everything that its provider said about the request', async () => {
    const failure = streamOf(...OPENING[api], errorEvent(api, { code: 503, message: 'Busy.' }));
    const { provider } = over(api, [failure, failure], { retries: { maxRetries: 1 } });
    const payloads: EventPayload[] = [];
    const { harness } = openWorld();
    for await (const { payload } of runAgent({ provider, harness, agent: { slug: 'tester' }, input: 'Go.' }))
      payloads.push(payload);
    expect(named(payloads, 'request_retry')).toHaveLength(1);
    expect(named(payloads, 'response_error')).toMatchObject([
      { code: '503', status: 200, request_id: 'req_2', retryable: true, attempts: 2, retry_after_ms: 70 },
    ]);
  });

  test.each(APIS.filter((other) => other !== api))('an answer in the format %s is named as such', async (other) => {
    for (const body of [wholeOf(other), ...wholeAnswer(other)]) {
      const { provider, asked } = over(api, [body]);
      const [error] = named(await payloadsOf(provider, REQUEST), 'response_error');
      expect(error).toMatchObject({ code: 'ProviderFormat', retryable: false });
      expect(error!.message).toContain(`Set api to "${other}"`);
      expect(asked()).toBe(1);
    }
  });
});

/** Answers in the form without streaming. */
function wholeAnswer(api: ProviderApi): string[] {
  const bodies: Record<ProviderApi, object> = {
    'openai-responses': { object: 'response', id: 'resp_1', status: 'completed', output: [] },
    'openai-chat': { object: 'chat.completion', choices: [{ index: 0, message: { content: 'Hi' } }] },
    'anthropic-messages': { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
  };
  return [JSON.stringify(bodies[api])];
}

/** A body that sends these pieces and then waits; each piece takes `ms`. */
function slow(clock: FakeClock, ms: number, pieces: readonly string[]): Response {
  const left = [...pieces];
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void | Promise<void> => {
    const piece = left.shift();
    if (piece === undefined) return new Promise(() => {});
    clock.time += ms;
    controller.enqueue(new TextEncoder().encode(piece));
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
}

describe('limits', () => {
  const [opening] = [streamOf(...OPENING['openai-chat'])];
  const said = streamOf({ id: 'chatcmpl-1', choices: [{ index: 0, delta: { content: 'Hi' } }] });

  test('an answer that begins and says nothing in time is asked for again', async () => {
    const clock = new FakeClock((ms) => ms < 100_000);
    const bodies = [slow(clock, 1000, [opening, ': still here\n\n']), wholeOf('openai-chat')];
    const { provider, asked } = over('openai-chat', bodies, { clock, firstTokenTimeoutMs: 5000 });
    const payloads = await payloadsOf(provider, REQUEST);
    expect(named(payloads, 'request_retry')).toMatchObject([{ code: 'FirstTokenTimeout' }]);
    expect(asked()).toBe(2);
  });

  test('the limit for the beginning does not count after it', async () => {
    const clock = new FakeClock((ms) => ms < 100_000);
    const stop = streamOf({ id: 'chatcmpl-1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]');
    const { provider } = over('openai-chat', [slow(clock, 3000, [said, said, said, stop])], {
      clock,
      firstTokenTimeoutMs: 5000,
    });
    expect(named(await payloadsOf(provider, REQUEST), 'response_done')).toMatchObject([{ status: 'completed' }]);
  });

  test('all attempts together end at their limit', async () => {
    const end = streamOf({ id: 'chatcmpl-1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]');
    const clock = new FakeClock((ms) => ms < 100_000);
    const { provider } = over('openai-chat', [slow(clock, 3000, [said, said, said, end])], {
      clock,
      totalTimeoutMs: 8000,
    });
    expect(named(await payloadsOf(provider, REQUEST), 'response_error')).toMatchObject([
      { code: 'RequestTimeout', retryable: false },
    ]);
  });

  test('a retry that would wait beyond the limit of all attempts is not made', async () => {
    const busy = () => new Response('', { status: 503, headers: { 'retry-after': '5' } });
    const { provider, asked } = over('openai-chat', [busy(), busy()], { totalTimeoutMs: 8000 });
    const [error] = named(await payloadsOf(provider, REQUEST), 'response_error');
    expect(asked()).toBe(2);
    expect(error).toMatchObject({ status: 503, attempts: 2, retry_after_ms: 5000 });
  });
});

test('headers named after keys are secret only with values that look like keys', () => {
  const headers = { 'x-key-version': '2024', 'x-monkey': 'banana', 'idempotency-key': 'again 1 2 3 4 5 6 7 8' };
  expect(secretHeaders(headers)).toEqual([]);
  expect(secretHeaders({ 'api-key': 'sk-0123456789abcdef' })).toContain('sk-0123456789abcdef');
  expect(secretHeaders({ authorization: 'Bearer short' })).toContain('short');
});
