import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import { messagesUsage } from '#core/providers/anthropic-messages/wire.js';
import type { Response } from '#core/protocol/index.js';
import { brokenLaws, doneOf, eventsOf, itemsOf } from './decoded.js';
import { OWN_STREAMS } from './own-streams.js';
import { streamOf } from './wire-text.js';

type Json = Record<string, unknown>;

async function readBody(body: string): Promise<{ response: Response; done: Json }> {
  const events = await eventsOf('anthropic-messages', body);
  expect(brokenLaws(events)).toEqual([]);
  return { response: foldResponse(events), done: doneOf(events) };
}

const start: Json = {
  type: 'message_start',
  message: { id: 'msg_1', model: 'model-1', content: [], usage: { input_tokens: 5, output_tokens: 1 } },
};

const read = (...values: unknown[]) => readBody(streamOf(start, ...values));

const blockStart = (index: number, block: Json): Json => ({ type: 'content_block_start', index, content_block: block });
const blockDelta = (index: number, delta: Json): Json => ({ type: 'content_block_delta', index, delta });
const blockStop = (index: number): Json => ({ type: 'content_block_stop', index });
const stop = (reason: string, members: Json = {}): Json[] => [
  { type: 'message_delta', delta: { stop_reason: reason, ...members }, usage: { output_tokens: 7 } },
  { type: 'message_stop' },
];

const said = [
  blockStart(0, { type: 'text', text: '' }),
  blockDelta(0, { type: 'text_delta', text: 'said' }),
  blockStop(0),
];

test('the billed tokens are those of all iterations, and the last message has the size of the context', () => {
  const iteration = (type: string, input_tokens: number, output_tokens: number) => ({
    type,
    input_tokens,
    output_tokens,
    cache_read_input_tokens: 10,
  });
  const iterations = [iteration('compaction', 180_000, 3500), iteration('message', 23_000, 1000)];
  const usage = messagesUsage({ input_tokens: 23_000, output_tokens: 1000, iterations });
  expect(usage).toMatchObject({
    input_tokens: 203_000,
    output_tokens: 4500,
    cache_read_tokens: 20,
    total_tokens: 207_520,
    context_tokens: 24_010,
  });
  const ofModels = [
    iteration('message', 10, 1),
    { ...iteration('advisor_message', 20, 2), model: 'claude-opus-4-7' },
    { ...iteration('advisor_message', 30, 3), model: 'claude-opus-4-7' },
  ];
  expect(messagesUsage({ input_tokens: 10, output_tokens: 1, iterations: ofModels })).toMatchObject({
    input_tokens: 60,
    by_model: { 'claude-opus-4-7': { input_tokens: 50, output_tokens: 5, total_tokens: 75 } },
  });
  expect(messagesUsage({ input_tokens: 3, output_tokens: 4 })).not.toHaveProperty('context_tokens');
});

describe('Anthropic Messages', () => {
  test('an answer becomes an item for each block, with the data that the provider requires back', async () => {
    const { response, done } = await readBody(Object.values(OWN_STREAMS['anthropic-messages'])[0]!);
    const api = 'anthropic-messages';
    expect(response.output_items).toEqual([
      { type: 'reasoning', id: 'run_item_0', api, answer_id: 'run', content: 'Überlegt', signature: 'c2VhbGVk' },
      {
        type: 'reasoning',
        id: 'run_item_1',
        api,
        answer_id: 'run',
        content: '',
        native: { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
      },
      { type: 'message', id: 'run_item_2', api, answer_id: 'run', role: 'assistant', content: 'Grüße, 😀\n天' },
      {
        type: 'function_call',
        id: 'run_item_3',
        api,
        answer_id: 'run',
        call_id: 'toolu_1',
        native_id: 'toolu_1',
        name: 'getWeather',
        arguments: '{"city":"Oslo"}',
        caller: { type: 'direct' },
      },
    ]);
    expect(response.usage).toMatchObject({
      input_tokens: 36,
      output_tokens: 20,
      cache_read_tokens: 64,
      cache_write_tokens: 5,
      reasoning_tokens: 8,
      total_tokens: 125,
    });
    expect(done).toMatchObject({ status: 'completed', stop_reason: 'tool_use', usage: response.usage });
  });

  test.each([
    ['end_turn', 'completed', undefined],
    ['stop_sequence', 'completed', undefined],
    ['a word of tomorrow', 'completed', undefined],
    ['max_tokens', 'incomplete', 'max_output_tokens'],
    ['model_context_window_exceeded', 'incomplete', 'context_window'],
    ['refusal', 'incomplete', 'refusal'],
    ['pause_turn', 'incomplete', 'paused'],
  ])('stop_reason "%s" is an answer that is %s', async (reason, status, expected) => {
    const details = { stop_details: { type: 'refusal' } };
    const { response, done } = await read(...said, ...stop(reason, details));
    expect(response).toMatchObject({ status, output_items: [{ content: 'said' }] });
    expect(done).toMatchObject({ status, stop_reason: reason, ...details });
    expect(done.incomplete_reason).toBe(expected);
  });

  test('later figures of usage replace earlier ones, and the others stay', async () => {
    const { response } = await read(...said, ...stop('end_turn'));
    expect(response.usage).toMatchObject({ input_tokens: 5, output_tokens: 7, total_tokens: 12 });
  });

  test('an input that arrives as empty text is the empty object', async () => {
    const call = blockStart(0, { type: 'tool_use', id: 'toolu_1', name: 'one', input: {} });
    const empty = blockDelta(0, { type: 'input_json_delta', partial_json: '' });
    const { response } = await read(call, empty, blockStop(0), ...stop('tool_use'));
    expect(itemsOf(response, 'function_call')).toMatchObject([{ call_id: 'toolu_1', name: 'one', arguments: '{}' }]);
  });

  test('the empty object at the start of a block is not an input, and a complete one is', async () => {
    const call = (input: Json) => blockStart(0, { type: 'tool_use', id: 'toolu_1', name: 'one', input });
    const none = await read(call({}), blockStop(0), ...stop('tool_use'));
    expect(itemsOf(none.response, 'function_call')).toMatchObject([{ arguments: '' }]);
    const whole = await read(call({ x: 1 }), blockStop(0), ...stop('tool_use'));
    expect(itemsOf(whole.response, 'function_call')).toMatchObject([{ arguments: '{"x":1}' }]);
  });

  test('a call whose block has not stopped is not made with the empty object', async () => {
    const call = blockStart(0, { type: 'tool_use', id: 'toolu_1', name: 'one', input: {} });
    const empty = blockDelta(0, { type: 'input_json_delta', partial_json: '' });
    const { response } = await read(call, empty, ...stop('tool_use'));
    expect(itemsOf(response, 'function_call')).toMatchObject([{ arguments: '' }]);
  });

  test('a call that the limit truncated is an error; a call with wrong arguments is a call', async () => {
    const call = [
      blockStart(0, { type: 'tool_use', id: 'toolu_1', name: 'one', input: {} }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '{"path":"/tm' }),
      blockStop(0),
    ];
    const cut = await read(...call, ...stop('max_tokens'));
    expect(cut.response.output_items.map(({ type }) => type)).toEqual(['function_call', 'error']);
    const wrong = await read(...call, ...stop('tool_use'));
    expect(itemsOf(wrong.response, 'function_call')).toMatchObject([{ arguments: '{"path":"/tm' }]);
    expect(wrong.response.status).toBe('completed');
  });

  test('a hosted tool is kept completely, with its joined input', async () => {
    const { response } = await read(
      blockStart(0, { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '{"query":' }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '"Oslo"}' }),
      blockStop(0),
      blockStart(1, { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [{ encrypted_content: 'x' }] }),
      blockStop(1),
      blockStart(2, { type: 'compaction', content: null }),
      blockDelta(2, { type: 'compaction_delta', content: 'short' }),
      blockStop(2),
      ...stop('end_turn'),
    );
    expect(response.output_items.map(({ native }) => native)).toEqual([
      { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'Oslo' } },
      { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [{ encrypted_content: 'x' }] },
      { type: 'compaction', content: 'short' },
    ]);
    expect(itemsOf(response, 'function_call')).toEqual([]);
  });

  test('citations stay with their text', async () => {
    const citations = [{ cited_text: 'a' }, { cited_text: 'b' }];
    const { response } = await read(
      blockStart(0, { type: 'text', text: 'sa' }),
      ...citations.map((citation) => blockDelta(0, { type: 'citations_delta', citation })),
      blockDelta(0, { type: 'text_delta', text: 'id' }),
      blockStop(0),
      ...stop('end_turn'),
    );
    expect(itemsOf(response, 'message')).toMatchObject([{ content: 'said', citations }]);
  });

  test('thinking without text keeps its signature', async () => {
    const { response } = await read(
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      blockDelta(0, { type: 'signature_delta', signature: 'c2VhbGVk' }),
      blockStop(0),
      ...said.map((event) => ({ ...event, index: 1 })),
      ...stop('end_turn'),
    );
    expect(response.output_items).toMatchObject([{ content: '', signature: 'c2VhbGVk' }, { content: 'said' }]);
  });

  test('an answer without its last event is complete if it has a stop reason, and truncated otherwise', async () => {
    const [reason] = stop('end_turn');
    expect((await read(...said, reason)).response.status).toBe('completed');
    expect((await read(...said)).response.error?.code).toBe('AnswerTruncated');
    expect((await read(...said.slice(0, 2), reason)).response.error?.code).toBe('AnswerTruncated');
  });

  test('an error in the stream is the provider’s', async () => {
    const { response } = await read(...said.slice(0, 2), {
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
    });
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'overloaded_error', message: 'Overloaded' },
      output_items: [{ content: 'said', cancelled: true }],
    });
  });

  test('indexes may be missing', async () => {
    const withoutIndex = ({ index: _index, ...event }: Json) => event;
    const { response } = await read(...[...said, ...said].map(withoutIndex), ...stop('end_turn'));
    expect(itemsOf(response, 'message').map(({ content }) => content)).toEqual(['said', 'said']);
  });

  test('the name of an event stands for a missing type', async () => {
    const events = [...said, ...stop('end_turn')].map(
      ({ type, ...data }) => `event: ${String(type)}\ndata: ${JSON.stringify(data)}\n\n`,
    );
    const { response } = await readBody(streamOf(start) + events.join(''));
    expect(response).toMatchObject({ status: 'completed', output_items: [{ content: 'said' }] });
  });

  test('an answer that was not streamed is read too', async () => {
    const body = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'model-1',
      content: [
        { type: 'thinking', thinking: 'thought', signature: 'c2VhbGVk' },
        { type: 'text', text: 'said' },
        { type: 'tool_use', id: 'toolu_1', name: 'one', input: { x: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 5, output_tokens: 7 },
    };
    const { response, done } = await readBody(JSON.stringify(body));
    expect(response).toMatchObject({
      status: 'completed',
      usage: { total_tokens: 12 },
      output_items: [
        { type: 'reasoning', content: 'thought', signature: 'c2VhbGVk' },
        { type: 'message', content: 'said' },
        { type: 'function_call', arguments: '{"x":1}' },
      ],
    });
    expect(done.stop_reason).toBe('tool_use');
  });
});
