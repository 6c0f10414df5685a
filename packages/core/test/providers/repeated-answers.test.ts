import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import type { Response } from '#core/protocol/index.js';
import type { ProviderApi } from '#core/providers/index.js';
import { brokenLaws, eventsOf, itemsOf, textOf } from './decoded.js';
import { OWN_STREAMS } from './own-streams.js';
import { bodyOf, messagesOf, streamOf } from './wire-text.js';

type Json = Record<string, unknown>;

const APIS = Object.keys(OWN_STREAMS) as ProviderApi[];

async function readBody(api: ProviderApi, body: string): Promise<Response> {
  const events = await eventsOf(api, body);
  expect(brokenLaws(events)).toEqual([]);
  return foldResponse(events);
}

const read = (api: ProviderApi, ...values: unknown[]) => readBody(api, streamOf(...values));

const callsOf = (response: Response) =>
  itemsOf(response, 'function_call').map(({ call_id, name, arguments: text }) => [call_id, name, text]);

describe.each(APIS)('an answer in %s', (api) => {
  const messages = messagesOf(Object.values(OWN_STREAMS[api])[0]!);

  test('is the same if each of its events arrives twice', async () => {
    const { status, output_items: items } = await readBody(api, bodyOf(messages));
    const doubled = await readBody(api, bodyOf(messages.flatMap((message) => [message, message])));
    expect(doubled).toMatchObject({ status, output_items: items });
  });

  test('is the same if its first event arrives twice, and equal text deltas after it stay two', async () => {
    const whole = await readBody(api, bodyOf(messages));
    expect(await readBody(api, bodyOf([messages[0]!, ...messages]))).toMatchObject({
      output_items: whole.output_items,
    });
  });
});

describe('an answer that restarts', () => {
  test('ends if it has content, and drops its open calls', async () => {
    for (const api of ['openai-responses', 'anthropic-messages'] as const) {
      const messages = messagesOf(Object.values(OWN_STREAMS[api])[0]!);
      const middle = messages.findIndex(({ data }) => data.includes('\\"city\\"'));
      const response = await readBody(api, bodyOf([...messages.slice(0, middle + 1), ...messages]));
      expect(response).toMatchObject({ status: 'failed', error: { code: 'AnswerRestarted' } });
      expect(itemsOf(response, 'function_call')).toEqual([]);
      expect(textOf(response)).toContain('Grüße');
    }
  });

  test('continues if it has no content yet', async () => {
    const start = { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } } };
    const again = { type: 'message_start', message: { id: 'msg_2', usage: { input_tokens: 5, output_tokens: 1 } } };
    const stop = { type: 'message_delta', delta: { stop_reason: 'end_turn' } };
    const response = await read('anthropic-messages', start, { type: 'ping' }, again, stop, { type: 'message_stop' });
    expect(response.status).toBe('completed');
  });
});

describe('OpenAI Chat Completions', () => {
  const chunk = (delta: Json, more: Json = {}): Json => ({
    id: 'chatcmpl-1',
    choices: [{ index: 0, delta, finish_reason: null }],
    ...more,
  });
  const call = (...calls: Json[]): Json => ({ tool_calls: calls });
  const whole = (id: string, name: string, text: string): Json => ({ id, function: { name, arguments: text } });
  const stop = { id: 'chatcmpl-1', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };

  test('equal consecutive text deltas are all kept', async () => {
    const ha = chunk({ content: 'ha' });
    expect(textOf(await read('openai-chat', chunk({ content: '' }), ha, ha, stop))).toBe('haha');
  });

  test('equal consecutive argument deltas are all kept', async () => {
    const piece = chunk(call({ index: 0, function: { arguments: '00' } }));
    const response = await read(
      'openai-chat',
      chunk(call({ index: 0, ...whole('a', 'one', '{"x":1') })),
      piece,
      piece,
      chunk(call({ index: 0, function: { arguments: '}' } })),
      stop,
    );
    expect(callsOf(response)).toEqual([['a', 'one', '{"x":10000}']]);
  });

  test('a complete call that arrives twice in a row is one call, with or without an id', async () => {
    for (const members of [{ id: 'a' }, {}]) {
      const twice = chunk(call({ ...members, function: { name: 'one', arguments: '{"x":1}' } }));
      const response = await read('openai-chat', chunk({ content: '' }), twice, twice, stop);
      expect(callsOf(response)).toEqual([[expect.any(String), 'one', '{"x":1}']]);
    }
  });

  test('a complete call that is repeated later is one call, under its id', async () => {
    const response = await read(
      'openai-chat',
      chunk(call({ index: 0, ...whole('a', 'one', '{"x":1}') })),
      chunk({ content: 'said' }),
      chunk(call({ index: 0, ...whole('a', 'one', '{"x":1}') })),
      stop,
    );
    expect(callsOf(response)).toEqual([['a', 'one', '{"x":1}']]);
  });

  test('a call of the same id, name and arguments under another index is not another call', async () => {
    const calls = [0, 1].map((index) => chunk(call({ index, ...whole('a', 'one', '{"x":1}') })));
    expect(callsOf(await read('openai-chat', ...calls, stop))).toEqual([['a', 'one', '{"x":1}']]);
  });

  test('chunks of another answer restart the answer', async () => {
    const response = await read(
      'openai-chat',
      chunk({ content: 'sa' }),
      chunk({ content: 'id' }),
      chunk({ content: 'said' }, { id: 'chatcmpl-2' }),
      stop,
    );
    expect(response).toMatchObject({ status: 'failed', error: { code: 'AnswerRestarted' } });
    expect(textOf(response)).toBe('said');
  });

  test('chunks with different ids from one server are one answer', async () => {
    const chunks = ['a', 'b', 'c'].map((id) => chunk({ content: id }, { id }));
    expect(textOf(await read('openai-chat', ...chunks, stop))).toBe('abc');
  });

  test('an empty last chunk with another id ends the answer', async () => {
    const said = ['a', 'b', 'c'].map((content) => chunk({ content }));
    const response = await read('openai-chat', ...said, { ...stop, id: 'chatcmpl-2' });
    expect([response.status, textOf(response)]).toEqual(['completed', 'abc']);
  });

  test('a call that names no tool is dropped', async () => {
    const response = await read('openai-chat', chunk(call({ index: 0, ...whole('a', '', '{}') })), stop);
    expect(response).toMatchObject({ status: 'completed', output_items: [] });
  });
});

describe('Anthropic Messages', () => {
  const start = { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } } };
  const block = { type: 'tool_use', id: 'toolu_1', name: 'one', input: {} };
  const open = { type: 'content_block_start', index: 0, content_block: block };
  const piece = (json: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: json },
  });
  const close = { type: 'content_block_stop', index: 0 };
  const end = [{ type: 'message_delta', delta: { stop_reason: 'tool_use' } }, { type: 'message_stop' }];
  const readCall = (...values: unknown[]) => read('anthropic-messages', start, ...values, ...end);

  test('an open call that is announced again restarts under its id', async () => {
    const response = await readCall(open, piece('{"x":'), open, piece('{"x":1}'), close);
    expect(callsOf(response)).toEqual([['toolu_1', 'one', '{"x":1}']]);
  });

  test('an open call that is announced again keeps no earlier data', async () => {
    expect(callsOf(await readCall(open, piece('{"x":1}'), open, close))).toEqual([['toolu_1', 'one', '']]);
  });

  test('a call that has stopped and is announced again is one call', async () => {
    const whole = [open, piece('{"x":1}'), close];
    expect(callsOf(await readCall(...whole, ...whole))).toEqual([['toolu_1', 'one', '{"x":1}']]);
    expect(callsOf(await readCall(...whole, open, piece('{"x":2}'), close))).toEqual([['toolu_1', 'one', '{"x":1}']]);
  });

  test('a call that names no tool is dropped', async () => {
    const response = await readCall({ ...open, content_block: { ...block, name: '' } }, piece('{}'), close);
    expect(response).toMatchObject({ status: 'completed', output_items: [] });
  });
});

describe('OpenAI Responses', () => {
  const item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'one', arguments: '' };
  const added = (members: Json = {}) => ({
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...item, ...members },
  });
  const piece = (delta: string) => ({ type: 'response.function_call_arguments.delta', output_index: 0, delta });
  const done = (members: Json = {}) => ({
    type: 'response.output_item.done',
    output_index: 0,
    item: { ...item, arguments: '{"x":1}', ...members },
  });
  const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } };
  const readCall = (...values: unknown[]) => read('openai-responses', ...values, completed);

  test('an open call that is announced again restarts under its id', async () => {
    expect(callsOf(await readCall(added(), piece('{"x"'), added(), piece('{"x":1}'), done()))).toEqual([
      ['call_1', 'one', '{"x":1}'],
    ]);
    expect(callsOf(await readCall(added(), piece('{"x":1}'), added()))).toEqual([['call_1', 'one', '']]);
  });

  test('a finished item that is announced again is one item', async () => {
    expect(callsOf(await readCall(added(), done(), added(), done()))).toEqual([['call_1', 'one', '{"x":1}']]);
    const message = { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'said' }] };
    const events = [
      { ...added(), item: message },
      { ...done(), item: message },
    ];
    expect(textOf(await read('openai-responses', ...events, ...events, completed))).toBe('said');
  });

  test('an unfinished plain text call never completes, because its truncation cannot be detected', async () => {
    const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_1', name: 'run_script', input: '' };
    const text = { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: '{}' };
    const response = await readCall({ ...added(), item: custom }, text);
    expect(itemsOf(response, 'error')).toMatchObject([{ code: 'ArgumentsIncomplete' }]);
  });

  test('a numbered text delta that arrives twice in a row is kept once', async () => {
    const text = { type: 'response.output_text.delta', output_index: 0, delta: 'ha', sequence_number: 2 };
    const created = { type: 'response.created', response: {}, sequence_number: 0 };
    expect(textOf(await read('openai-responses', created, text, text, completed))).toBe('ha');
    const { sequence_number: _none, ...unnumbered } = text;
    expect(textOf(await read('openai-responses', created, unnumbered, unnumbered, completed))).toBe('haha');
  });

  test('a call that names no tool is dropped', async () => {
    const response = await readCall(added({ name: '' }), done({ name: '' }));
    expect(response).toMatchObject({ status: 'completed', output_items: [] });
  });
});
