import { expect, test } from 'vitest';
import { itemsOf, responseOf } from './decoded.js';
import { streamOf } from './wire-text.js';

/* Parts of two answers that arrive as one, in Responses and in Chat. */

const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'one', arguments: '' };

const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } };
const added = { type: 'response.output_item.added', output_index: 0, item: call };
const piece = (delta: string) => ({ type: 'response.function_call_arguments.delta', output_index: 0, delta });
const done = (item: object) => ({ type: 'response.output_item.done', output_index: 0, item: { ...call, ...item } });
const completed = (id = 'resp_1') => ({
  type: 'response.completed',
  response: { id, status: 'completed', output: [] },
});

const numbered = (...events: object[]) => events.map((event, at) => ({ ...event, sequence_number: at }));

async function read(...events: object[]) {
  const response = await responseOf('openai-responses', streamOf(...events));
  return { error: response.error?.code, calls: itemsOf(response, 'function_call').length };
}

const WHOLE = [created, added, piece('{"a":'), piece('1}'), done({ arguments: '{"a":1}' }), completed()];

test('an answer whose numbered events have a gap fails', async () => {
  const events = numbered(...WHOLE);
  expect(await read(...events)).toEqual({ error: undefined, calls: 1 });
  expect(await read(...events.toSpliced(4, 1))).toEqual({ error: 'AnswerMalformed', calls: 0 });
});

test('numbered events that arrive again count once', async () => {
  const events = numbered(...WHOLE);
  expect(await read(...events.slice(0, 4), ...events.slice(2))).toEqual({ error: undefined, calls: 1 });
});

test('events that all have the same number are all read', async () => {
  expect(await read(...WHOLE.map((event) => ({ ...event, sequence_number: 0 })))).toEqual({
    error: undefined,
    calls: 1,
  });
});

test.each([{ name: 'two' }, { call_id: 'call_2' }, { arguments: '{"a":2}' }])(
  'a call that ends as another one fails the answer: %j',
  async (item) => {
    const end = done({ arguments: '{"a":1}', ...item });
    expect(await read(created, added, piece('{"a":1}'), end, completed())).toEqual({
      error: 'AnswerMalformed',
      calls: 0,
    });
  },
);

test('arguments may end written in another way', async () => {
  const end = done({ arguments: '{ "a": 1 }' });
  expect(await read(created, added, piece('{"a":1}'), end, completed())).toEqual({ error: undefined, calls: 1 });
});

test('a final response of another answer fails the answer, and no open call runs', async () => {
  expect(await read(created, added, piece('{"a":1}'), completed('resp_2'))).toEqual({
    error: 'AnswerMalformed',
    calls: 0,
  });
});

const chunk = (id: string, delta: object, reason: string | null = null) => ({
  id,
  choices: [{ index: 0, delta, finish_reason: reason }],
});
const opening = { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'one', arguments: '' } }] };
const more = (text: string) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] });

test.each([
  ['arguments', [chunk('a', opening), chunk('b', more('{"a":1}')), chunk('b', {}, 'tool_calls')]],
  ['the end', [chunk('a', opening), chunk('a', more('{"a":1}')), chunk('b', {}, 'tool_calls')]],
])('Chat: %s from another answer do not complete a call', async (_what, chunks) => {
  const response = await responseOf('openai-chat', streamOf(...chunks));
  expect([response.error?.code, itemsOf(response, 'function_call')]).toEqual(['AnswerRestarted', []]);
});
