import { APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN } from '../support/test-server.js';
import { clientOf, openResponsesServer, WEATHER, type ResponsesServer } from './support/responses-server.js';
import { ErrorSchema } from './support/specification.js';

const OTHER_TOKEN = 'token-of-another-principal';
const READER_TOKEN = 'token-of-a-reader-only';

let server: ResponsesServer;

beforeAll(async () => {
  server = await openResponsesServer({
    auth: {
      token: TOKEN,
      authenticate: (token) => {
        if (token === OTHER_TOKEN) return { principal: 'other', scopes: ['admin'] };
        return token === READER_TOKEN ? { principal: 'local', scopes: ['read'] } : undefined;
      },
    },
  });
});

afterAll(() => server.close());

async function refusal(body: unknown, headers: Record<string, string> = {}, text = JSON.stringify(body)) {
  const response = await fetch(`${server.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    body: text,
  });
  const { error } = ErrorSchema.parse(await response.json());
  return { status: response.status, ...error };
}

it('an invalid query parameter is named like a member of a body', async () => {
  const response = await fetch(`${server.url}/v1/responses/resp_none/input_items?limit=0`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  expect(await response.json()).toMatchObject({ error: { param: 'limit', code: 'invalid_value' } });
});

const CASES: readonly [string, object, { param?: string | null; code?: string; message?: string; status?: number }][] =
  [
    ['an unknown member', { nonsense: 1 }, { param: 'nonsense', code: 'unknown_parameter' }],
    ['an unsupported member', { top_p: 0.5 }, { param: 'top_p', code: 'unsupported_parameter' }],
    ['a stored prompt', { prompt: { id: 'p' } }, { param: 'prompt', code: 'unsupported_parameter' }],
    ['a conversation', { conversation: 'conv_1' }, { param: 'conversation', message: 'previous_response_id' }],
    [
      'a format of the answer',
      { text: { format: { type: 'json_object' } } },
      { param: 'text.format.type', message: 'json_schema' },
    ],
    [
      'a schema that is none',
      { text: { format: { type: 'json_schema', name: 'x', schema: { type: 'number', minimum: 'a' } } } },
      { param: 'text.format.schema', message: 'schema of the answer' },
    ],
    [
      'a large schema',
      { text: { format: { type: 'json_schema', name: 'x', schema: { description: 'x'.repeat(100_000) } } } },
      { param: 'text.format.schema', message: 'maximum is 100000' },
    ],
    ['a tool of the service', { tools: [{ type: 'web_search' }] }, { param: 'tools[0].type' }],
    ['a function without a name', { tools: [{ ...WEATHER, name: '' }] }, { param: 'tools[0].name' }],
    ['a function called run_script', { tools: [{ ...WEATHER, name: 'run_script' }] }, { param: 'tools[0].name' }],
    ['two functions of one name', { tools: [WEATHER, WEATHER] }, { param: 'tools', message: 'get_weather' }],
    ['a wrong type', { stream: 'yes' }, { param: 'stream', code: 'invalid_value' }],
    ['a wrong bound', { max_output_tokens: 1 }, { param: 'max_output_tokens' }],
    ['an unknown include', { include: ['file_search_call.results'] }, { param: 'include[0]' }],
    ['too much metadata', { metadata: { a: 'x'.repeat(513) } }, { param: 'metadata.a' }],
    ['no input', { input: null }, { param: 'input' }],
    ['an empty input', { input: [] }, { param: 'input' }],
    ['an item of an unknown type', { input: [{ type: 'item_reference', id: 'x' }] }, { param: 'input[0].type' }],
    ['an unknown role', { input: [{ role: 'critic', content: 'x' }] }, { param: 'input[0].role' }],
    [
      'a file',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'x' }] }] },
      { param: 'input[0].content[0].file_data', message: 'data: URL' },
    ],
    [
      'an image behind a URL',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png' }] }] },
      { param: 'input[0].content[0].image_url', code: 'invalid_image_url' },
    ],
    [
      'a call without its output',
      {
        input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
      },
      { param: 'input', code: 'tool_output_missing' },
    ],
    [
      'an output without its call',
      {
        input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }],
      },
      { param: 'input', code: 'tool_call_not_found' },
    ],
    [
      'an unknown model',
      { model: 'gpt-0' },
      { status: 404, param: 'model', code: 'model_not_found', message: 'helper' },
    ],
    ['a background that is not stored', { background: true, store: false }, { param: 'background' }],
  ];

describe('a rejected request', () => {
  it.each(CASES)('gets an error with the cause: %s', async (_name, body, expected) => {
    const { message, ...error } = expected;
    const found = await refusal({ model: 'helper', input: 'hello', ...body });
    expect(found).toMatchObject({ status: 400, type: 'invalid_request_error', ...error });
    if (message !== undefined) expect(found.message).toContain(message);
  });

  it('creates no run', async () => {
    const before = await server.stores.runs.list({ limit: 500 });
    for (const [, body] of CASES) await refusal({ model: 'helper', input: 'hello', ...body });
    expect((await server.stores.runs.list({ limit: 500 })).runs).toEqual(before.runs);
  });

  it('gets an error of the API’s shape if it is not a valid request at all', async () => {
    expect(await refusal(undefined, {}, '{"input": ')).toMatchObject({ status: 400 });
    expect(await refusal(undefined, {}, '[]')).toMatchObject({ status: 400 });
    expect(await refusal({}, { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
    expect(await refusal({}, { authorization: 'Bearer wrong' })).toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
    expect(await refusal({}, { authorization: `Bearer ${READER_TOKEN}` })).toMatchObject({ status: 403 });
    expect(await refusal({}, { origin: 'https://evil.example' })).toMatchObject({ status: 403 });
    expect(await refusal({ input: 'x'.repeat(9_000_000) })).toMatchObject({ status: 413 });
    const unknown = await server.call('GET', '/v1/embeddings');
    expect(unknown.status).toBe(404);
    ErrorSchema.parse(unknown.body);
  });

  it('raises the official client’s own errors', async () => {
    const { client } = server;
    await expect(clientOf(server.url, 'wrong').responses.create({ input: 'x' })).rejects.toThrow(APIError);
    await expect(client.responses.create({ model: 'gpt-0', input: 'x' })).rejects.toMatchObject({
      name: 'Error',
      status: 404,
      code: 'model_not_found',
    });
    await expect(client.responses.create({ input: [], stream: true })).rejects.toMatchObject({ status: 400 });
  });
});

describe('the data of another principal', () => {
  it('is not found: responses, their input, and as previous ones', async () => {
    const { id } = await server.create({ input: 'mine' });
    const other = clientOf(server.url, OTHER_TOKEN);
    const attempts = [
      () => other.responses.retrieve(id),
      () => other.responses.delete(id),
      () => other.responses.cancel(id),
      () => other.responses.inputItems.list(id),
    ];
    for (const attempt of attempts)
      await expect(attempt()).rejects.toMatchObject({ status: 404, code: 'response_not_found' });
    const after = other.responses.create({ model: 'helper', input: 'x', previous_response_id: id });
    await expect(after).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
    expect(await server.client.responses.retrieve(id)).toMatchObject({ status: 'completed' });
  });
});

it('agents are listed as models', async () => {
  const { data } = await server.client.models.list();
  expect(data.map(({ id }) => id)).toEqual(['demo', 'helper']);
  expect(await server.client.models.retrieve('helper')).toMatchObject({ object: 'model', owned_by: 'toolscript' });
  await expect(server.client.models.retrieve('gpt-0')).rejects.toMatchObject({ status: 404 });
});
