import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { createProvider, type ProviderApi } from '#core/providers/index.js';
import { readMessages } from '#core/providers/scripted/read-messages.js';
import { readResponses } from '#core/providers/scripted/read-responses.js';
import { GET_WEATHER, output, Talk, user } from './asking.js';
import { unpaired } from './pairs.js';
import { streamOf } from './wire-text.js';

/* Calls of tools that the provider runs itself, and their results. */

type Wire = Record<string, unknown>;

/** A model that answers with these bodies, one for each request, and the requests as a strict service reads them. */
function talkOver(api: ProviderApi, bodies: string[]) {
  const requests: Wire[] = [];
  const provider = createProvider(api, {
    model: 'model-1',
    environment: {},
    retries: { maxRetries: 0 },
    fetch: async (_url, init) => {
      requests.push(JSON.parse(init.body as string) as Wire);
      return new Response(bodies.shift(), { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  return { talk: new Talk(provider, { tools: [GET_WEATHER] }), requests };
}

const message_start = {
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'model-1', content: [] },
};
const block = (index: number, content_block: Wire, ...deltas: Wire[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const input = (partial_json: string) => ({ type: 'input_json_delta', partial_json });
const text = (index: number, said: string) =>
  block(index, { type: 'text', text: '' }, { type: 'text_delta', text: said });
const stop = (stop_reason: string) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
];

/** Every name of a hosted call in the newest SDK: the compiler reports one that is missing. */
type HostedName = Anthropic.Beta.BetaServerToolUseBlock['name'] | 'mcp_tool_use';

const MESSAGES_CALLS: Readonly<Record<HostedName, [call: Wire, result: Wire]>> = {
  web_search: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
  ],
  web_fetch: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_fetch', input: {} },
    { type: 'web_fetch_tool_result', tool_use_id: 'srvtoolu_1', content: { type: 'web_fetch_tool_result_error' } },
  ],
  code_execution: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {} },
    { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_1', content: { stdout: '4', return_code: 0 } },
  ],
  bash_code_execution: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'bash_code_execution', input: {} },
    { type: 'bash_code_execution_tool_result', tool_use_id: 'srvtoolu_1', content: {} },
  ],
  text_editor_code_execution: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'text_editor_code_execution', input: {} },
    { type: 'text_editor_code_execution_tool_result', tool_use_id: 'srvtoolu_1', content: {} },
  ],
  tool_search_tool_regex: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search_tool_regex', input: {} },
    { type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_1', content: {} },
  ],
  tool_search_tool_bm25: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search_tool_bm25', input: {} },
    { type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_1', content: {} },
  ],
  advisor: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'advisor', input: {} },
    { type: 'advisor_tool_result', tool_use_id: 'srvtoolu_1', content: {} },
  ],
  mcp_tool_use: [
    { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'echo', server_name: 'mine', input: {} },
    { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [] },
  ],
};

const clientCall = (index: number, id: string) =>
  block(index, { type: 'tool_use', id, name: 'getWeather', input: {} }, input('{}'));

const args = input('{"code":"print(4)","query":"x"}');

const ENDINGS: Readonly<Record<string, (call: Wire) => unknown[]>> = {
  'the connection breaks after the call': (call) => block(1, call, args),
  'the connection breaks inside the call': (call) => block(1, call, input('{"code":"pri')).slice(0, -1),
  'max_tokens ends the answer after the call': (call) => [...block(1, call, args), ...stop('max_tokens')],
  'max_tokens ends the answer inside the call': (call) => [...block(1, call, input('{"co')), ...stop('max_tokens')],
  'the model refuses after the call': (call) => [...block(1, call, args), ...stop('refusal')],
  'the user speaks during a pause': (call) => [...block(1, call, args), ...stop('pause_turn')],
};

describe.each(Object.entries(MESSAGES_CALLS))('Messages: %s', (_, [call, result]) => {
  test.each(Object.entries(ENDINGS))(
    'if %s, the next request is legal and has no half of a pair',
    async (_end, ending) => {
      const bodies = [
        streamOf(message_start, ...text(0, 'I look.'), ...ending(call)),
        streamOf(message_start, ...text(0, 'Done.'), ...stop('end_turn')),
      ];
      const { talk, requests } = talkOver('anthropic-messages', bodies);
      await talk.say(user('Go'));
      await talk.say(user('And?'));
      expect(() => readMessages(requests[1])).not.toThrow();
      expect(JSON.stringify(requests[1])).not.toContain('tool_use"');
      expect(JSON.stringify(requests[1])).toContain('I look.');
    },
  );

  test('a paused answer goes back as it is, and its continuation completes the pair', async () => {
    const bodies = [
      streamOf(message_start, ...text(0, 'I look.'), ...block(1, call, args), ...stop('pause_turn')),
      streamOf(message_start, ...block(0, result), ...text(1, 'Four.'), ...stop('end_turn')),
      streamOf(message_start, ...text(0, 'Done.'), ...stop('end_turn')),
    ];
    const { talk, requests } = talkOver('anthropic-messages', bodies);
    const paused = await talk.say(user('Go'));
    expect(paused.status).toBe('incomplete');
    await talk.say();
    await talk.say(user('And?'));
    for (const request of requests) expect(() => readMessages(request)).not.toThrow();
    expect(JSON.stringify(requests[1])).toContain(String(call.id));
    expect(JSON.stringify(requests[2])).toContain(String(result.type));
  });

  test('a pair that a damaged answer repeats goes back once', async () => {
    const pieces = [block(1, call, input('{"code":"pri')).slice(0, -1), block(1, call, args), block(2, result)];
    const bodies = [
      streamOf(message_start, ...pieces.flat(), ...pieces.slice(1).flat(), ...text(3, 'Four.'), ...stop('end_turn')),
      streamOf(message_start, ...text(0, 'Done.'), ...stop('end_turn')),
    ];
    const { talk, requests } = talkOver('anthropic-messages', bodies);
    await talk.say(user('Go'));
    await talk.say(user('And?'));
    expect(() => readMessages(requests[1])).not.toThrow();
    const sent = JSON.stringify(requests[1]);
    expect(sent.split(`"id":"${String(call.id)}"`)).toHaveLength(2);
    expect(sent.split(`"tool_use_id":"${String(call.id)}"`)).toHaveLength(2);
  });

  test('an interrupted call is reported to the user by name', async () => {
    const { talk } = talkOver('anthropic-messages', [
      streamOf(message_start, ...text(0, 'I look.'), ...block(1, call, args)),
    ]);
    const { output_items: items } = await talk.say(user('Go'));
    expect(items).toContainEqual(expect.objectContaining({ type: 'error', code: 'HostedCallLost' }));
  });

  const mixed = {
    'after it': [...block(1, call, args), ...clientCall(2, 'toolu_1')],
    'before it': [...clientCall(1, 'toolu_1'), ...block(2, call, args)],
  };
  const own = `"id":"${String(call.id)}"`;
  const done = () => streamOf(message_start, ...text(0, 'Done.'), ...stop('end_turn'));
  const sunny = output({ call_id: 'toolu_1' }, 'Sunny.');
  const rain = output({ call_id: 'toolu_2' }, 'Rain.');

  describe.each(Object.entries(mixed))('with a call of the client %s', (_place, blocks) => {
    const waiting = () => streamOf(message_start, ...blocks, ...stop('tool_use'));

    test('it goes back with the results alone, and the next answer begins with its result', async () => {
      const next = streamOf(message_start, ...block(0, result), ...text(1, 'Four.'), ...stop('end_turn'));
      const { talk, requests } = talkOver('anthropic-messages', [waiting(), next, done()]);
      const { status, output_items: items } = await talk.say(user('Go'));
      expect([status, items.some(({ type }) => type === 'error')]).toEqual(['completed', false]);
      await talk.say(sunny);
      await talk.say(user('And?'));
      for (const request of requests) expect(() => readMessages(request)).not.toThrow();
      const [, assistant, results] = requests[1]!.messages as Wire[];
      expect(JSON.stringify(assistant)).toContain(own);
      expect(results).toMatchObject({ role: 'user', content: [{ type: 'tool_result' }] });
      expect(JSON.stringify(requests[2])).toContain(String(result.type));
      expect(JSON.stringify(requests[2])).not.toContain('There is no result of');
    });

    test.each([
      ['the next answer calls the client again', [], [...clientCall(0, 'toolu_2'), ...stop('tool_use')], [rain]],
      ['the next answer breaks off', [], text(0, 'I think'), [user('And?')]],
      ['the user speaks first', [user('Stop')], [...text(0, 'I stop.'), ...stop('end_turn')], [user('And?')]],
    ])('it is reported as lost if %s', async (_what, said, answer, after) => {
      const { talk, requests } = talkOver('anthropic-messages', [
        waiting(),
        streamOf(message_start, ...answer),
        done(),
      ]);
      await talk.say(user('Go'));
      await talk.say(sunny, ...said);
      await talk.say(...after);
      for (const request of requests) expect(() => readMessages(request)).not.toThrow();
      expect(JSON.stringify(requests[2])).not.toContain(own);
      expect(JSON.stringify(requests[2])).toContain('There is no result of');
    });

    test.each([
      ['the connection breaks', []],
      ['max_tokens ends the answer', stop('max_tokens')],
      ['the model refuses', stop('refusal')],
    ])('it is reported as lost if %s', async (_end, end) => {
      const { talk, requests } = talkOver('anthropic-messages', [streamOf(message_start, ...blocks, ...end), done()]);
      const { output_items: items } = await talk.say(user('Go'));
      expect(items).toContainEqual(expect.objectContaining({ type: 'error', code: 'HostedCallLost' }));
      await talk.say(sunny);
      expect(() => readMessages(requests[1])).not.toThrow();
      expect(JSON.stringify(requests[1])).not.toContain(own);
      expect(JSON.stringify(requests[1])).toMatch(/There is no result of|This code did not finish/u);
    });
  });
});

test('Messages: a request with a half of a pair is refused', () => {
  const [call, result] = MESSAGES_CALLS.web_search!;
  const request = (...content: Wire[]) => ({
    model: 'm',
    max_tokens: 9,
    stream: true,
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content },
      { role: 'user', content: 'And?' },
    ],
  });
  expect(() => readMessages(request(call, result))).not.toThrow();
  expect(() => readMessages(request(call))).toThrow(/srvtoolu_1/u);
  expect(() => readMessages(request(result))).toThrow(/srvtoolu_1/u);
  expect(() => readMessages(request({ ...call, input: '{"qu' }, result))).toThrow();
});

const responsesStream = (...items: Wire[]) =>
  streamOf(
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
    ...items.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: items } },
  );

/** The calls of `openai` 7.59.0 that the client executes. */
const CLIENT_CALLS: readonly Wire[] = [
  { type: 'shell_call', id: 'sh_1', call_id: 'call_1', action: { commands: ['ls'] }, environment: { type: 'local' } },
  { type: 'local_shell_call', id: 'lsh_1', call_id: 'call_1', action: { type: 'exec', command: ['ls'], env: {} } },
  { type: 'apply_patch_call', id: 'apc_1', call_id: 'call_1', operation: { type: 'delete_file', path: 'a' } },
  { type: 'computer_call', id: 'cu_1', call_id: 'call_1', action: { type: 'screenshot' }, pending_safety_checks: [] },
  { type: 'tool_search_call', id: 'ts_1', call_id: 'call_1', arguments: { query: 'x' }, execution: 'client' },
  { type: 'mcp_approval_request', id: 'mcpr_1', name: 'echo', server_label: 'mine', arguments: '{}' },
  { type: 'telepathy_call', id: 'tp_1', call_id: 'call_1', thought: 'x' },
];

describe('Responses: a call that the client must execute', () => {
  test.each(CLIENT_CALLS)('$type is reported by name, and the next request is legal', async (item) => {
    const { talk, requests } = talkOver('openai-responses', [
      responsesStream({ ...item, status: 'completed' }),
      responsesStream({ type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'Oh.' }] }),
    ]);
    const { output_items: items } = await talk.say(user('Go'));
    expect(items).toContainEqual(
      expect.objectContaining({
        type: 'error',
        code: 'UnsupportedCall',
        message: expect.stringContaining(String(item.type)),
      }),
    );
    expect(items).toContainEqual(expect.objectContaining({ type: 'function_call', name: item.type }));
    await talk.say(user('And?'));
    expect(() => readResponses(requests[1])).not.toThrow();
    const sent = requests[1]!.input as Wire[];
    expect(sent.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call_output', 'message']);
  });
});

/** The items of `openai` 7.59.0 that the service itself completes. */
const HOSTED_ITEMS: readonly Wire[][] = [
  [{ type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'x' }, status: 'completed' }],
  [{ type: 'file_search_call', id: 'fs_1', queries: ['x'], status: 'completed' }],
  [{ type: 'image_generation_call', id: 'ig_1', result: 'AA==', status: 'completed' }],
  [{ type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'c', outputs: null, status: 'completed' }],
  [{ type: 'mcp_call', id: 'mcp_1', name: 'echo', server_label: 'mine', arguments: '{}', output: 'x' }],
  [{ type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'mine', tools: [] }],
  [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'sealed' }],
  [
    { type: 'shell_call', id: 'sh_1', call_id: 'call_1', action: {}, environment: { type: 'container_reference' } },
    { type: 'shell_call_output', id: 'sho_1', call_id: 'call_1', output: [] },
  ],
  [
    { type: 'tool_search_call', id: 'ts_1', call_id: 'call_1', arguments: {}, execution: 'server' },
    { type: 'tool_search_output', id: 'tso_1', call_id: 'call_1', tools: [], execution: 'server' },
  ],
  [{ type: 'item_of_the_future', id: 'x_1', member: 1 }],
];

describe('Responses: an item that the service completes', () => {
  test.each(HOSTED_ITEMS.map((items) => [String(items[0]!.type), items] as const))(
    '%s goes back as it came',
    async (_, hosted) => {
      const { talk, requests } = talkOver('openai-responses', [
        responsesStream(...hosted, { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'Yes.' }] }),
        responsesStream(),
      ]);
      const { output_items: items } = await talk.say(user('Go'));
      expect(items.filter(({ type }) => type === 'error')).toEqual([]);
      await talk.say(user('And?'));
      for (const item of hosted) expect(requests[1]!.input).toContainEqual(item);
    },
  );
});

test('Responses: a call that the service made as asynchronous goes back as it came, with its result', async () => {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'getWeather', arguments: '{}' };
  const members = { namespace: 'sky', async: true, caller: { type: 'direct' } };
  const { talk, requests } = talkOver('openai-responses', [
    responsesStream({ ...call, ...members }),
    responsesStream(),
  ]);
  await talk.say(user('Go'));
  await talk.say(output(call, 'Sunny.'));
  expect(() => readResponses(requests[1])).not.toThrow();
  const [, sent, result] = requests[1]!.input as Wire[];
  expect(sent).toMatchObject({ type: 'function_call', call_id: 'call_1', ...members });
  expect(result).toMatchObject({ type: 'function_call_output', call_id: 'call_1', output: 'Sunny.' });
});

type Output = OpenAI.Responses.ResponseOutputItem['type'];
type Called<Type> = Type extends `${infer Call}_output` ? Call : never;

/** The hosted calls of Responses whose result is another item: the compiler reports one that is missing. */
const RESPONSES_CALLS: Readonly<Record<Called<Output>, Wire | 'of the client'>> = {
  shell_call: HOSTED_ITEMS.find(([item]) => item!.type === 'shell_call')![0]!,
  tool_search: HOSTED_ITEMS.find(([item]) => item!.type === 'tool_search_call')![0]!,
  program: { type: 'program', id: 'prog_1', call_id: 'call_1', code: 'text(4)', fingerprint: 'c2VhbGVk' },
  function_call: 'of the client',
  custom_tool_call: 'of the client',
  computer_call: 'of the client',
  local_shell_call: 'of the client',
  apply_patch_call: 'of the client',
};

const OWN_CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_own', name: 'getWeather', arguments: '{}' };
const BESIDE: Readonly<Record<string, (call: Wire) => Wire[]>> = {
  alone: (call) => [call],
  'before a call of the client': (call) => [call, OWN_CALL],
  'after a call of the client': (call) => [OWN_CALL, call],
};
const RESPONSES_ENDS: Readonly<Record<string, readonly Wire[]>> = {
  'the connection breaks': [],
  'max_output_tokens ends the answer': [responseEnd('incomplete', { reason: 'max_output_tokens' })],
  'a filter ends the answer': [responseEnd('incomplete', { reason: 'content_filter' })],
  'the answer fails': [responseEnd('failed')],
  'the answer is cancelled': [responseEnd('cancelled')],
  'the answer is complete': [responseEnd('completed')],
};

function responseEnd(status: string, incomplete_details: Wire | null = null): Wire {
  return { type: `response.${status}`, response: { id: 'resp_1', status, incomplete_details, output: [] } };
}

const hostedCalls = Object.entries(RESPONSES_CALLS).filter(
  (entry): entry is [string, Wire] => typeof entry[1] === 'object',
);

describe.each(hostedCalls)('Responses: %s without its output', (type, call) => {
  const cases = Object.keys(BESIDE).flatMap((place) => Object.keys(RESPONSES_ENDS).map((end) => [place, end] as const));

  test.each(cases)('%s: if %s, it is reported as lost, and no half goes back', async (place, end) => {
    const items = BESIDE[place]!(call);
    const broken = streamOf(
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
      ...items.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
      ...RESPONSES_ENDS[end]!,
    );
    const { talk, requests } = talkOver('openai-responses', [broken, responsesStream(), responsesStream()]);
    const { output_items: said } = await talk.say(user('Go'));
    // Code may resume in the next answer.
    const mayResume = type === 'program' && end === 'the answer is complete';
    if (!mayResume) expect(said).toContainEqual(expect.objectContaining({ type: 'error', code: 'HostedCallLost' }));
    if (place !== 'alone') await talk.say(output({ call_id: 'call_own' }, 'Sunny.'));
    await talk.say(user('And?'));
    for (const { input } of mayResume ? requests.slice(-1) : requests) expect(unpaired(input)).toEqual([]);
    expect(JSON.stringify(requests.at(-1))).toMatch(/There is no result of|This code did not finish/u);
  });
});
