import { describe, expect, test } from 'vitest';
import { createProvider, type ProviderApi } from '#core/providers/index.js';
import { callsOf, ask, payloadsOf, user } from './asking.js';
import { streamOf } from './wire-text.js';

/* Streams of servers that treat ids, numbers and reasons loosely. */

const answered = (api: ProviderApi, body: string) =>
  createProvider(api, {
    model: 'm',
    environment: {},
    retries: { maxRetries: 0 },
    fetch: async () =>
      new Response(body, {
        headers: { 'content-type': body.startsWith('{') ? 'application/json' : 'text/event-stream' },
      }),
  });

const call = (number: number, more: object = {}) => ({
  type: 'function_call',
  call_id: `call_${number}`,
  name: 'add',
  arguments: `{"a":${number}}`,
  ...more,
});

describe('Responses', () => {
  const numbered = (events: readonly object[]) =>
    streamOf(...events.map((event, at) => ({ sequence_number: at, ...event })));
  const message = { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'Hello' }] };

  test('a numbered answer whose every event has another response id is complete', async () => {
    const response = (at: number, more: object = {}) => ({
      id: `resp_${at}`,
      status: 'in_progress',
      output: [],
      ...more,
    });
    const body = numbered([
      { type: 'response.created', response: response(0) },
      { type: 'response.in_progress', response: response(1) },
      { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
      { type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', delta: 'Hello' },
      { type: 'response.output_item.done', output_index: 0, item: message },
      {
        type: 'response.completed',
        response: response(5, { status: 'completed', output: [message], usage: { input_tokens: 3, output_tokens: 1 } }),
      },
    ]);
    const read = await ask(answered('openai-responses', body), { conversation: [user('Go')] });
    expect(read).toMatchObject({ status: 'completed', usage: { input_tokens: 3 } });
  });

  test('an announced call without an end and without arguments does not run', async () => {
    const body = streamOf(
      { type: 'response.created', response: { id: 'resp_1', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: call(1, { arguments: '' }) },
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } },
    );
    const payloads = await payloadsOf(answered('openai-responses', body), { conversation: [user('Go')] });
    expect(payloads).toContainEqual(expect.objectContaining({ type: 'item_error', code: 'ArgumentsIncomplete' }));
    expect(payloads.filter(({ type }) => type === 'item_done')).toEqual([]);
  });

  test('a whole answer of an unknown status keeps its text', async () => {
    const body = JSON.stringify({ object: 'response', id: 'resp_1', status: 'expired', output: [message] });
    const read = await ask(answered('openai-responses', body), { conversation: [user('Go')] });
    expect(read).toMatchObject({ status: 'incomplete', output_items: [{ content: 'Hello' }] });
  });

  test.each([true, false])(
    'a server that gives every call the index 0 loses no call (announced: %s)',
    async (announced) => {
      const events = [1, 2, 3].flatMap((number) => [
        ...(announced
          ? [{ type: 'response.output_item.added', output_index: 0, item: call(number, { arguments: '' }) }]
          : []),
        { type: 'response.output_item.done', output_index: 0, item: call(number) },
      ]);
      const end = { id: 'resp_1', status: 'completed', output: [1, 2, 3].map((number) => call(number)) };
      const body = streamOf({ type: 'response.created', response: { id: 'resp_1', output: [] } }, ...events, {
        type: 'response.completed',
        response: end,
      });
      const read = await ask(answered('openai-responses', body), { conversation: [user('Go')] });
      expect(callsOf(read).map(({ call_id: id }) => id)).toEqual(['call_1', 'call_2', 'call_3']);
    },
  );
});

describe('Chat', () => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const callDelta = (index: number, text: string) => ({
    tool_calls: [{ index, id: `call_${index}`, function: { name: 'add', arguments: text } }],
  });

  test.each([
    ['a call', callDelta(1, '{"a":')],
    ['text', { content: 'and th' }],
  ])('%s after the reason of the end, and then no end, is no complete answer', async (_, more) => {
    const body = streamOf(chunk(callDelta(0, '{"a":1}'), 'tool_calls'), chunk(more));
    const payloads = await payloadsOf(answered('openai-chat', body), { conversation: [user('Go')] });
    expect(payloads.at(-1)).toMatchObject({ type: 'response_done', status: 'failed' });
  });
});

test.each<[ProviderApi, string]>([
  [
    'openai-responses',
    streamOf(
      { type: 'response.created', response: { id: 'resp_1', output: [] } },
      { type: 'response.output_item.done', output_index: 0, item: { id: 'x_1', status: 'completed' } },
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } },
    ),
  ],
  [
    'anthropic-messages',
    streamOf(
      { type: 'message_start', message: { id: 'msg_1', content: [] } },
      { type: 'content_block_start', index: 0 },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sealed' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ),
  ],
])('%s: an item whose type is missing does not go back', async (api, body) => {
  const { output_items: items } = await ask(answered(api, body), { conversation: [user('Go')] });
  expect(items.filter(({ cancelled }) => cancelled !== true)).toEqual([]);
});

test.each([
  ['openai-responses', 'OPENAI_BASE_URL', '/responses'],
  ['openai-chat', 'OPENAI_BASE_URL', '/chat/completions'],
  ['anthropic-messages', 'ANTHROPIC_BASE_URL', '/v1/messages'],
] as const)('%s: the environment replaces the base URL, and the option replaces both', async (api, name, path) => {
  const urls: string[] = [];
  const settings = {
    model: 'm',
    environment: { [name]: 'https://gateway.example/team' },
    retries: { maxRetries: 0 },
    fetch: async (url: string | URL) => {
      urls.push(String(url));
      return new Response('{}', { status: 400 });
    },
  };
  const request = { conversation: [user('Go')] };
  await ask(createProvider(api, settings), request);
  await ask(createProvider(api, { ...settings, baseUrl: 'https://mine.example' }), request);
  expect(urls).toEqual([`https://gateway.example/team${path}`, `https://mine.example${path}`]);
});
