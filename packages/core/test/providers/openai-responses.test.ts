import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import type { Response } from '#core/protocol/index.js';
import { brokenLaws, doneOf, eventsOf, itemsOf } from './decoded.js';
import { OWN_STREAMS } from './own-streams.js';
import { streamOf } from './wire-text.js';

type Json = Record<string, unknown>;

async function read(...values: unknown[]): Promise<{ response: Response; done: Json; deltas: string[] }> {
  return readBody(streamOf(...values));
}

async function readBody(body: string): Promise<{ response: Response; done: Json; deltas: string[] }> {
  const events = await eventsOf('openai-responses', body);
  expect(brokenLaws(events)).toEqual([]);
  const deltas = events.flatMap(({ payload }) => (payload.type === 'item_delta' ? [payload.delta] : []));
  return { response: foldResponse(events), done: doneOf(events), deltas };
}

const added = (index: number, item: Json): Json => ({ type: 'response.output_item.added', output_index: index, item });
const itemDone = (index: number, item: Json): Json => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});
const textDelta = (index: number, delta: string): Json => ({
  type: 'response.output_text.delta',
  output_index: index,
  delta,
});

const message = (id: string, ...texts: string[]): Json => ({
  type: 'message',
  id,
  role: 'assistant',
  content: texts.map((text) => ({ type: 'output_text', text, annotations: [] })),
});

const completed = (members: Json = {}): Json => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output: [], ...members },
});

const incomplete = (reason: string): Json => ({
  type: 'response.incomplete',
  response: { id: 'resp_1', status: 'incomplete', output: [], incomplete_details: { reason } },
});

describe('OpenAI Responses', () => {
  test('an answer becomes its items in order, with the data that the provider requires back', async () => {
    const { response, done } = await readBody(Object.values(OWN_STREAMS['openai-responses'])[0]!);
    const api = 'openai-responses';
    expect(response.output_items).toEqual([
      {
        type: 'reasoning',
        id: 'run_item_0',
        native_id: 'rs_1',
        api,
        answer_id: 'run',
        content: 'Überlegt\n\ntwice',
        summary: [
          { type: 'summary_text', text: 'Überlegt' },
          { type: 'summary_text', text: 'twice' },
        ],
        encrypted_content: 'c2VhbGVk',
      },
      {
        type: 'reasoning',
        id: 'run_item_1',
        api,
        answer_id: 'run',
        content: '',
        native: { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'Oslo' } },
      },
      {
        type: 'message',
        id: 'run_item_2',
        native_id: 'msg_1',
        api,
        answer_id: 'run',
        role: 'assistant',
        content: 'Grüße, 😀\n天',
        phase: 'commentary',
      },
      {
        type: 'function_call',
        id: 'run_item_3',
        native_id: 'fc_1',
        api,
        answer_id: 'run',
        call_id: 'call_1',
        name: 'getWeather',
        arguments: '{"city":"Oslo"}',
      },
    ]);
    expect(response.usage).toMatchObject({
      input_tokens: 100,
      cache_read_tokens: 64,
      reasoning_tokens: 8,
      total_tokens: 120,
    });
    expect(done).toMatchObject({ status: 'completed', usage: response.usage });
  });

  test('the streamed text equals that of the finished item', async () => {
    const { deltas } = await readBody(Object.values(OWN_STREAMS['openai-responses'])[0]!);
    expect(deltas.join('|')).toBe('Überlegt|\n\n|twice|Grüße, 😀|\n天|{"city":|"Oslo"}');
  });

  test('parts beyond one plain text are kept', async () => {
    const parts = [
      { type: 'output_text', text: 'said', annotations: [{ type: 'url_citation', url: 'https://example.org' }] },
    ];
    const { response } = await read(itemDone(0, { ...message('msg_1'), content: parts }), completed());
    expect(itemsOf(response, 'message')[0]).toMatchObject({ content: 'said', content_parts: parts });
    const two = await read(itemDone(0, message('msg_1', 'a', 'b')), completed());
    expect(itemsOf(two.response, 'message')[0]).toMatchObject({
      content: 'ab',
      content_parts: [{ text: 'a' }, { text: 'b' }],
    });
  });

  test('a refusal is text for the user, and is marked', async () => {
    const refusal = { ...message('msg_1'), content: [{ type: 'refusal', refusal: 'I will not.' }] };
    const { response, deltas } = await read(
      added(0, message('msg_1')),
      { type: 'response.refusal.delta', output_index: 0, delta: 'I will not.' },
      itemDone(0, refusal),
      completed(),
    );
    expect(deltas).toEqual(['I will not.']);
    expect(itemsOf(response, 'message')[0]).toMatchObject({ content: 'I will not.', refusal: 'I will not.' });
  });

  test.each([
    ['max_output_tokens', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
    ['a word of tomorrow', 'other'],
  ])('an answer that is incomplete for "%s" says so', async (reason, expected) => {
    const { response, done } = await read(added(0, message('msg_1')), textDelta(0, 'sai'), incomplete(reason));
    expect(response.status).toBe('incomplete');
    expect(done).toMatchObject({ incomplete_reason: expected, stop_reason: reason });
    expect(itemsOf(response, 'message')[0]).toMatchObject({ content: 'sai' });
  });

  test('a call that the limit truncated is an error, whether the wire finished it or not', async () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'cut', arguments: '' };
    const delta = { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"path":"/tm' };
    const end = itemDone(0, { ...call, arguments: '{"path":"/tm', status: 'incomplete' });
    for (const events of [
      [added(0, call), delta],
      [added(0, call), delta, end],
    ]) {
      const { response } = await read(...events, incomplete('max_output_tokens'));
      expect(response.output_items.map(({ type }) => type)).toEqual(['function_call', 'error']);
    }
  });

  test('a failed response and an error event are the provider’s error', async () => {
    const error = { code: 'rate_limit_exceeded', message: 'Slow down' };
    const failed = {
      type: 'response.failed',
      response: { status: 'failed', error, usage: { input_tokens: 1, output_tokens: 0 } },
    };
    for (const event of [failed, { type: 'error', ...error }, { type: 'error', error }, { error }]) {
      const { response } = await read(textDelta(0, 'sai'), event);
      expect(response).toMatchObject({ status: 'failed', error });
      expect(itemsOf(response, 'message')[0]).toMatchObject({ content: 'sai', cancelled: true });
    }
  });

  test('a cancelled response is cancelled', async () => {
    const { response } = await read(textDelta(0, 'sai'), {
      type: 'response.cancelled',
      response: { status: 'cancelled' },
    });
    expect(response).toMatchObject({ status: 'cancelled', output_items: [{ content: 'sai', cancelled: true }] });
  });

  test('a custom tool is called with plain text', async () => {
    const call = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_1', name: 'run_script' };
    const { response } = await read(
      added(0, { ...call, input: '' }),
      { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: 'return 1' },
      itemDone(0, { ...call, input: 'return 1' }),
      completed(),
    );
    expect(itemsOf(response, 'function_call')[0]).toMatchObject({
      call_id: 'call_1',
      name: 'run_script',
      arguments: 'return 1',
      native_type: 'custom_tool_call',
    });
  });

  test('namespace and caller of a call are kept', async () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'one', arguments: '{}' };
    const { response } = await read(
      itemDone(0, { ...call, namespace: 'mail', caller: { type: 'direct' } }),
      completed(),
    );
    expect(itemsOf(response, 'function_call')[0]).toMatchObject({ namespace: 'mail', caller: { type: 'direct' } });
  });

  test('an item whose announcement is missing is opened by its deltas', async () => {
    const { response } = await read(
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{}' },
      itemDone(0, { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'late', arguments: '{}' }),
      completed(),
    );
    expect(itemsOf(response, 'function_call')).toMatchObject([{ call_id: 'call_1', name: 'late', arguments: '{}' }]);
  });

  test('an id that changes during the stream creates no second item', async () => {
    const { response } = await read(
      added(0, message('msg_a')),
      textDelta(0, 'said'),
      itemDone(0, message('msg_b', 'said')),
      completed({ output: [message('msg_c', 'said')] }),
    );
    expect(itemsOf(response, 'message')).toMatchObject([{ content: 'said', native_id: 'msg_b' }]);
  });

  test('without indexes the id decides, and otherwise the last item', async () => {
    const { response } = await read(
      { type: 'response.output_item.added', item: message('msg_a') },
      { type: 'response.output_item.added', item: message('msg_b') },
      { type: 'response.output_text.delta', item_id: 'msg_a', delta: 'first' },
      { type: 'response.output_text.delta', delta: 'second' },
      completed(),
    );
    expect(itemsOf(response, 'message').map(({ content }) => content)).toEqual(['first', 'second']);
  });

  test('the final response finishes items that the stream did not finish', async () => {
    const list = { type: 'mcp_list_tools', id: 'mcpl_1', tools: [{ name: 'search' }] };
    const { response } = await read(
      { type: 'response.queued', response: { id: 'resp_1', status: 'queued' } },
      added(0, { type: 'mcp_list_tools', id: 'mcpl_1', tools: [] }),
      itemDone(1, message('msg_1', 'said')),
      completed({ output: [list, message('msg_1', 'said')] }),
    );
    expect(response.output_items).toMatchObject([{ native: list }, { content: 'said' }]);
    const nothing = await read(completed({ output: [message('msg_1', 'said')] }));
    expect(itemsOf(nothing.response, 'message')).toMatchObject([{ content: 'said' }]);
  });

  test('an answer without its final response is truncated, however much was finished', async () => {
    const { response } = await read(itemDone(0, message('msg_1', 'said')), '[DONE]');
    expect(response).toMatchObject({ status: 'failed', error: { code: 'AnswerTruncated' } });
    expect(itemsOf(response, 'message')[0]).toMatchObject({ content: 'said' });
  });

  test('an answer that was not streamed is read too', async () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'one', arguments: { x: 1 } };
    const body = { id: 'resp_1', object: 'response', model: 'model-1', status: 'completed', error: null };
    const { response } = await readBody(JSON.stringify({ ...body, output: [message('msg_1', 'said'), call] }));
    expect(response).toMatchObject({
      status: 'completed',
      output_items: [
        { type: 'message', content: 'said' },
        { type: 'function_call', arguments: '{"x":1}' },
      ],
    });
    const queued = await readBody(JSON.stringify({ ...body, status: 'queued', output: [] }));
    expect(queued.response.error?.code).toBe('AnswerTruncated');
  });

  test('what is not read is named once: audio, and results of calls that only a client makes', async () => {
    const audio = { type: 'response.audio.delta', delta: 'UklGRg==' };
    const result = { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'x' };
    const { response } = await read(audio, audio, itemDone(0, result), completed());
    expect(itemsOf(response, 'error')).toMatchObject([
      { code: 'UnsupportedContent', message: expect.stringContaining('"response.audio.delta"') as unknown },
      { code: 'UnsupportedResult', message: expect.stringContaining('"function_call_output"') as unknown },
    ]);
  });

  test('what the service left out of the request is a member of the end', async () => {
    const removed = { type: 'reasoning', id: 'rs_1', action: 'removed', reason: 'prefix_mismatch' };
    const { done } = await read(itemDone(0, message('msg_1', 'said')), completed({ input_transformations: [removed] }));
    expect(done.input_transformations).toEqual([removed]);
  });
});
