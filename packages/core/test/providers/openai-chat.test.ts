import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import type { Response } from '#core/protocol/index.js';
import { brokenLaws, doneOf, eventsOf, itemsOf } from './decoded.js';
import { OWN_STREAMS } from './own-streams.js';
import { streamOf } from './wire-text.js';

type Json = Record<string, unknown>;

const chunk = (delta: Json, finishReason: string | null = null): Json => ({
  id: 'chatcmpl-1',
  choices: [{ index: 0, delta, finish_reason: finishReason }],
});

const stop = (finishReason: string): Json => chunk({}, finishReason);

async function read(...values: unknown[]): Promise<{ response: Response; done: Json }> {
  const events = await eventsOf('openai-chat', streamOf(...values));
  expect(brokenLaws(events)).toEqual([]);
  return { response: foldResponse(events), done: doneOf(events) };
}

const callsOf = (response: Response) =>
  itemsOf(response, 'function_call').map(({ call_id, name, arguments: text }) => [call_id, name, text]);

const call = (members: Json, name?: string, text?: unknown): Json => ({
  tool_calls: [{ ...members, function: { ...(name && { name }), ...(text !== undefined && { arguments: text }) } }],
});

describe('OpenAI Chat Completions', () => {
  test('an answer becomes reasoning, a message and calls, with the data that the provider requires back', async () => {
    const events = await eventsOf('openai-chat', Object.values(OWN_STREAMS['openai-chat'])[0]!);
    const { output_items: items, usage, status } = foldResponse(events);
    expect(status).toBe('completed');
    expect(items).toEqual([
      {
        type: 'reasoning',
        id: 'run_item_0',
        api: 'openai-chat',
        answer_id: 'run',
        content: 'Überlegt',
        reasoning_content: 'Überlegt',
      },
      {
        type: 'message',
        id: 'run_item_1',
        api: 'openai-chat',
        answer_id: 'run',
        role: 'assistant',
        content: 'Grüße, 😀\n天',
      },
      {
        type: 'function_call',
        id: 'run_item_2',
        api: 'openai-chat',
        answer_id: 'run',
        call_id: 'call_1',
        native_id: 'call_1',
        name: 'getWeather',
        arguments: '{"city":"Oslo"}',
      },
      {
        type: 'function_call',
        id: 'run_item_3',
        api: 'openai-chat',
        answer_id: 'run',
        call_id: 'call_2',
        native_id: 'call_2',
        name: 'getTime',
        arguments: '{}',
        extra_content: { google: { thought_signature: 'c2VhbGVk' } },
      },
    ]);
    expect(usage).toMatchObject({
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
      cache_read_tokens: 64,
      reasoning_tokens: 8,
    });
    expect(doneOf(events)).toMatchObject({
      type: 'response_done',
      status: 'completed',
      stop_reason: 'tool_calls',
      usage,
    });
  });

  test.each([
    ['stop', 'completed', undefined],
    ['tool_calls', 'completed', undefined],
    ['a word of tomorrow', 'completed', undefined],
    ['length', 'incomplete', 'max_output_tokens'],
    ['content_filter', 'incomplete', 'content_filter'],
    ['model_length', 'incomplete', 'context_window'],
    ['error', 'failed', undefined],
    ['insufficient_system_resource', 'failed', undefined],
  ])('finish_reason "%s" is an answer that is %s', async (finishReason, status, reason) => {
    const { response, done } = await read(chunk({ content: 'said' }), stop(finishReason), '[DONE]');
    expect(response.status).toBe(status);
    expect(done).toMatchObject({ status, stop_reason: finishReason });
    expect(done.incomplete_reason).toBe(reason);
    expect(itemsOf(response, 'message')[0]?.content).toBe('said');
  });

  test('a refusal is text for the user, and is marked', async () => {
    const { response } = await read(chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' }), stop('stop'), '[DONE]');
    expect(itemsOf(response, 'message')[0]).toMatchObject({ content: 'I will not.', refusal: 'I will not.' });
  });

  test('a call that the length limit truncated is an error, never a complete call', async () => {
    const { response } = await read(
      chunk(call({ index: 0, id: 'a' }, 'whole', '{}')),
      chunk(call({ index: 1, id: 'b' }, 'cut', '{"path":"/tm')),
      stop('length'),
      '[DONE]',
    );
    expect(response.status).toBe('incomplete');
    expect(response.output_items.map(({ type }) => type)).toEqual(['function_call', 'function_call', 'error']);
    expect(itemsOf(response, 'error')[0]).toMatchObject({ code: 'ArgumentsIncomplete' });
  });

  test('a call with wrong arguments is still a call', async () => {
    const { response } = await read(chunk(call({ index: 0, id: 'a' }, 'wrong', '{path}')), stop('tool_calls'));
    expect(response.status).toBe('completed');
    expect(callsOf(response)).toEqual([['a', 'wrong', '{path}']]);
  });

  test.each<[string, Json[], unknown[]]>([
    [
      'without an index each call with another id is one',
      [call({ id: 'a' }, 'one', '{"x":'), call({ id: 'b' }, 'two', '{}'), call({ id: 'a' }, undefined, '1}')],
      [
        ['a', 'one', '{"x":1}'],
        ['b', 'two', '{}'],
      ],
    ],
    [
      'without index and id the name begins a call, and the rest goes on with it',
      [call({}, 'one', '{"x":'), call({}, undefined, '1}'), call({}, 'two', '{}')],
      [
        ['run_call_0', 'one', '{"x":1}'],
        ['run_call_1', 'two', '{}'],
      ],
    ],
    [
      'calls that are all numbered 0 are told apart by id and name',
      [call({ index: 0, id: 'a' }, 'one', '{}'), call({ index: 0, id: 'b' }, 'two', '{}')],
      [
        ['a', 'one', '{}'],
        ['b', 'two', '{}'],
      ],
    ],
    [
      'id and name that come again with each piece begin no call',
      [call({ index: 0, id: 'a' }, 'one', '{"x"'), call({ index: 0, id: 'a' }, 'one', ':1}')],
      [['a', 'one', '{"x":1}']],
    ],
    [
      'a name that comes later is the name',
      [call({ index: 0, id: 'a' }, undefined, ''), call({ index: 0 }, 'one', '{}')],
      [['a', 'one', '{}']],
    ],
    ['arguments may come as an object', [call({ index: 0, id: 'a' }, 'one', { x: [1] })], [['a', 'one', '{"x":[1]}']]],
    ['an id may be a number', [call({ index: 0, id: 7 }, 'one', '{}')], [['7', 'one', '{}']]],
    [
      'a second call of the same id gets a name of its own',
      [call({ index: 0, id: 'a' }, 'one', '{}'), call({ index: 1, id: 'a' }, 'two', '{}')],
      [
        ['a', 'one', '{}'],
        ['run_call_1', 'two', '{}'],
      ],
    ],
    [
      'the old function_call is a call',
      [{ function_call: { name: 'one', arguments: '{"x"' } }, { function_call: { arguments: ':1}' } }],
      [['run_call_0', 'one', '{"x":1}']],
    ],
  ])('%s', async (_, deltas, expected) => {
    const { response } = await read(...deltas.map((delta) => chunk(delta)), stop('tool_calls'), '[DONE]');
    expect(callsOf(response)).toEqual(expected);
  });

  test('several calls in one delta without an index are several calls', async () => {
    const calls = ['one', 'two'].map((name, at) => ({ id: `c${at}`, function: { name, arguments: '{}' } }));
    const { response } = await read(chunk({ tool_calls: calls }), stop('tool_calls'));
    expect(callsOf(response)).toEqual([
      ['c0', 'one', '{}'],
      ['c1', 'two', '{}'],
    ]);
  });

  test.each<[string, Json[], Json]>([
    [
      'reasoning_content that stayed empty is kept: it is wanted back',
      [{ reasoning_content: '' }],
      { content: '', reasoning_content: '' },
    ],
    [
      'reasoning under its other name',
      [{ reasoning: 'so' }, { reasoning: ' so' }],
      { content: 'so so', reasoning: 'so so' },
    ],
    [
      'one thought under two names is shown once',
      [{ reasoning: 'so', reasoning_content: 'so' }],
      { content: 'so', reasoning: 'so', reasoning_content: 'so' },
    ],
    [
      'reasoning_details are put together block by block',
      [
        { reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'a', signature: null }] },
        { reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'b', signature: 's' }] },
        { reasoning_details: [{ type: 'reasoning.encrypted', index: 0, data: 'x' }] },
        { reasoning_details: [{ type: 'reasoning.encrypted', index: 0, data: 'y' }] },
      ],
      {
        content: 'ab',
        reasoning_details: [
          { type: 'reasoning.text', index: 0, text: 'ab', signature: 's' },
          { type: 'reasoning.encrypted', index: 0, data: 'x' },
          { type: 'reasoning.encrypted', index: 0, data: 'y' },
        ],
      },
    ],
    [
      'thinking that comes as parts of the content',
      [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'so' }] }] }],
      { content: 'so' },
    ],
  ])('%s', async (_, deltas, expected) => {
    const { response } = await read(...deltas.map((delta) => chunk(delta)), chunk({ content: 'said' }), stop('stop'));
    expect(response.output_items).toMatchObject([
      { type: 'reasoning', ...expected },
      { type: 'message', content: 'said' },
    ]);
  });

  test('an empty "reasoning" in every delta is ignored', async () => {
    const { response } = await read(chunk({ content: 'said', reasoning: '' }), stop('stop'));
    expect(response.output_items.map(({ type }) => type)).toEqual(['message']);
  });

  test('content may arrive in parts, and attachments stay with the message', async () => {
    const { response } = await read(
      chunk({ content: [{ type: 'text', text: 'a' }], annotations: [{ url: '1' }] }),
      chunk({ content: 'b', annotations: [{ url: '2' }], audio: null }),
      stop('stop'),
    );
    expect(itemsOf(response, 'message')[0]).toMatchObject({ content: 'ab', annotations: [{ url: '1' }, { url: '2' }] });
  });

  test('citations, search results and moderation of an answer stay with its message, once', async () => {
    const about = { citations: ['u1', 'u2'], search_results: [{ url: 'u1' }], moderation: { flagged: false } };
    const { response } = await read(
      { ...chunk({ content: 'a' }), citations: ['u1'] },
      { ...chunk({ content: 'b' }), ...about },
      { ...stop('stop'), ...about },
    );
    expect(itemsOf(response, 'message')[0]).toMatchObject({ content: 'ab', ...about });
  });

  test('images that a model made are not those of a user', async () => {
    const images = [{ type: 'image_url', image_url: { url: 'data:,' } }];
    const { response } = await read(chunk({ content: 'a', images }), stop('stop'));
    expect(itemsOf(response, 'message')[0]).toMatchObject({ native_images: images });
  });

  test('only the first of several choices is read', async () => {
    const other = { index: 1, delta: { content: 'other' }, finish_reason: 'length' };
    const first = { index: 0, delta: { content: 'said' }, finish_reason: 'stop' };
    const { response } = await read({ choices: [other, first] }, { choices: [other] }, '[DONE]');
    expect(response.status).toBe('completed');
    expect(itemsOf(response, 'message').map(({ content }) => content)).toEqual(['said']);
  });

  test.each<[string, Json, Json]>([
    ['DeepSeek', { usage: { prompt_cache_hit_tokens: 3 } }, { cache_read_tokens: 3 }],
    ['Moonshot', { usage: { cached_tokens: 3 } }, { cache_read_tokens: 3 }],
    [
      'OpenRouter',
      { usage: { prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 } } },
      { cache_write_tokens: 2 },
    ],
  ])('cache figures of %s', async (_, { usage }, expected) => {
    const figures = { prompt_tokens: 5, completion_tokens: 2, ...(usage as Json) };
    const { response } = await read(
      chunk({ content: 'said' }),
      stop('stop'),
      { choices: [], usage: figures },
      '[DONE]',
    );
    expect(response.usage).toMatchObject({
      input_tokens: 5,
      output_tokens: 2,
      total_tokens: 7,
      ...expected,
      native: figures,
    });
  });

  test('usage may be in Groq’s own member, or in the choice', async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2 };
    const groq = await read({ ...stop('stop'), x_groq: { usage } }, '[DONE]');
    expect(groq.response.usage).toMatchObject({ input_tokens: 5 });
    const choice = await read({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }, '[DONE]');
    expect(choice.response.usage).toMatchObject({ input_tokens: 5 });
  });

  test('an error without an envelope is recognised', async () => {
    const { response } = await read({ object: 'error', message: 'too long', type: 'BadRequestError', code: 400 });
    expect(response).toMatchObject({ status: 'failed', error: { code: '400', message: 'too long' } });
    const groq = await read({ ...stop('stop'), x_groq: { error: 'over_capacity' } }, '[DONE]');
    expect(groq.response).toMatchObject({ status: 'failed', error: { message: 'over_capacity' } });
  });

  test('an answer that was not streamed is read too', async () => {
    const body = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'model-1',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: 'said',
            reasoning_content: 'thought',
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'one', arguments: '{}' } },
              { id: 'b', type: 'function', function: { name: 'two', arguments: '{}' } },
            ],
          },
        },
      ],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    };
    const events = await eventsOf('openai-chat', JSON.stringify(body, null, 2));
    expect(brokenLaws(events)).toEqual([]);
    const response = foldResponse(events);
    expect(response).toMatchObject({ status: 'completed', usage: { total_tokens: 7 } });
    expect(response.output_items.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call',
    ]);
  });
});
