import { describe, expect, test } from 'vitest';
import { encodeMessages } from '#core/providers/anthropic-messages/encode.js';
import { encodeChat, type ChatSettings } from '#core/providers/openai-chat/encode.js';
import { encodeResponses, type ResponsesSettings } from '#core/providers/openai-responses/encode.js';
import { createPrompt } from '#core/providers/prompt.js';
import { createProvider, type ProviderApi, type ProviderOptions } from '#core/providers/index.js';
import type { ModelRequest, OutputItem } from '#core/protocol/index.js';
import { APIS, ask, GET_WEATHER, ONE_OR_TWO, output, user } from './asking.js';

/* Members that a service rejects with status 400. No request may contain them, whatever the conversation contains. */

type Wire = Record<string, unknown>;

async function responsesOf(conversation: OutputItem[], settings?: ResponsesSettings, model = 'gpt-5.5') {
  return encodeResponses(
    await createPrompt('openai-responses', model, { conversation, tools: [GET_WEATHER] }),
    settings,
  );
}

async function chatOf(conversation: OutputItem[], settings?: ChatSettings) {
  return encodeChat(await createPrompt('openai-chat', 'any', { conversation, tools: [GET_WEATHER] }), settings);
}

/** The text of the request that a provider sends. */
async function sentBy(api: ProviderApi, request: ModelRequest, options: Partial<ProviderOptions> = {}) {
  let sent = '';
  const provider = createProvider(api, {
    model: 'any',
    environment: {},
    retries: { maxRetries: 0 },
    fetch: async (_url, init) => {
      sent = init.body as string;
      return new Response('{"error":{"message":"No."}}', { status: 400 });
    },
    ...options,
  });
  await ask(provider, request);
  return sent;
}

const call = (api: string, args: string, more: object = {}): OutputItem => ({
  type: 'function_call',
  id: 'c',
  call_id: 'call_1',
  name: 'getWeather',
  arguments: args,
  api,
  answer_id: 'ans_1',
  ...more,
});

describe('Responses: reasoning', () => {
  const thought: OutputItem = {
    type: 'reasoning',
    id: 'r',
    content: 'Hm.',
    api: 'openai-responses',
    answer_id: 'ans_1',
    native_id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    encrypted_content: 'sealed',
  };
  const said: OutputItem = {
    type: 'message',
    id: 'm',
    role: 'assistant',
    content: 'I look it up.',
    api: 'openai-responses',
    answer_id: 'ans_1',
    native_id: 'msg_1',
    phase: 'commentary',
  };
  const asked = call('openai-responses', '{}', { native_id: 'fc_1' });
  const talk = [user('Go'), thought, said, asked, output({ call_id: 'call_1' }, '4')];

  test('is requested in a usable form without any setting', async () => {
    expect((await responsesOf(talk)).include).toEqual(['reasoning.encrypted_content']);
    expect(await responsesOf(talk, { encryptedReasoning: false })).not.toHaveProperty('include');
  });

  test.each(['gpt-4.1-mini', 'gpt-4o', 'gpt-4o-2024-11-20', 'gpt-3.5-turbo', 'chatgpt-4o-latest', 'gpt-5-chat-latest'])(
    'is not requested from %s, which refuses the request',
    async (model) => {
      expect(await responsesOf(talk, {}, model)).not.toHaveProperty('include');
      expect(await responsesOf(talk, { encryptedReasoning: true }, model)).toHaveProperty('include');
    },
  );

  test('items that the service has not stored carry no id, which it would look up', async () => {
    const { input } = await responsesOf(talk);
    expect(JSON.stringify(input)).not.toMatch(/msg_1|fc_1/u);
    expect(input).toContainEqual({
      type: 'message',
      role: 'assistant',
      content: 'I look it up.',
      phase: 'commentary',
    });
  });

  test('without its sealed content is left out, and what followed it goes alone', async () => {
    const { encrypted_content: _sealed, ...open } = thought;
    const { input } = await responsesOf([user('Go'), open as OutputItem, asked, output({ call_id: 'call_1' }, '4')]);
    expect(input.slice(1)).toEqual([
      { type: 'function_call', call_id: 'call_1', name: 'getWeather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: '4' },
    ]);
  });

  test('ids go back where the service stores answers', async () => {
    const stored = talk.map((item) => ({ ...item, stored: true }));
    const { input, store } = await responsesOf(stored, { store: true });
    expect(store).toBe(true);
    expect(input).toContainEqual(expect.objectContaining({ id: 'fc_1' }));
    expect(input).toContainEqual(expect.objectContaining({ id: 'msg_1', phase: 'commentary' }));
  });

  test('answers of before the service stored them go back without ids', async () => {
    const { input } = await responsesOf(talk, { store: true });
    expect(JSON.stringify(input)).not.toMatch(/msg_1|fc_1|rs_1/u);
  });
});

describe('Chat: reasoning that a server requires back', () => {
  const answered = (id: string, reasoning?: string): OutputItem[] => [
    ...(reasoning === undefined
      ? []
      : [
          {
            type: 'reasoning' as const,
            id: `r${id}`,
            content: reasoning,
            api: 'openai-chat',
            answer_id: `ans_${id}`,
            reasoning_content: reasoning,
          },
        ]),
    call('openai-chat', '{}', { id: `c${id}`, call_id: `call_${id}`, answer_id: `ans_${id}` }),
    output({ call_id: `call_${id}` }, '4'),
  ];
  const echoes = (body: { messages: object[] }) =>
    (body.messages as Wire[]).flatMap((message) =>
      message.role === 'assistant' ? [message.reasoning_content as string | undefined] : [],
    );

  test('is empty in an answer that had none, after an answer that had some', async () => {
    const talk = [user('Go'), ...answered('1'), ...answered('2', 'Hm.'), ...answered('3')];
    expect(echoes(await chatOf(talk))).toEqual([undefined, 'Hm.', '']);
    expect(echoes(await chatOf(talk, { echoReasoning: 'never' }))).toEqual([undefined, undefined, undefined]);
  });

  test('is in every answer with calls, also of another provider, where the server is known to require it', async () => {
    const foreign = call('anthropic-messages', '{}');
    const talk = [user('Go'), foreign, output({ call_id: 'call_1' }, '4'), ...answered('2')];
    const sent = async (baseUrl: string) =>
      echoes(JSON.parse(await sentBy('openai-chat', { conversation: talk }, { baseUrl })) as { messages: object[] });
    expect(await sent('https://api.deepseek.com')).toEqual(['', '']);
    expect(await sent('https://other.example/v1')).toEqual([undefined, undefined]);
  });
});

describe.each(APIS)('%s', (api) => {
  test.each(['no JSON', '{"city":', '[1]', '"text"', 'null', '\ud800'])(
    'arguments that are no object go back inside one: %j',
    async (args) => {
      const conversation = [user('Go'), call(api, args), output({ call_id: 'call_1' }, 'Wrong.', { success: false })];
      const sent = argumentsIn(JSON.parse(await sentBy(api, { conversation })) as Wire);
      expect(sent).toEqual({ invalid_arguments: args.replace('\ud800', '\ufffd') });
    },
  );

  test('half of a character never leaves, in no text and no name', async () => {
    const half = 'a\ud83d';
    const conversation = [
      user(`${half} 😀 \\ud83d`),
      call(api, JSON.stringify({ [half]: half, city: '😀' })),
      output({ call_id: 'call_1' }, half),
    ];
    const tools = [{ ...GET_WEATHER, description: half }] as ModelRequest['tools'];
    const sent = await sentBy(api, { system: half, conversation, ...(tools === undefined ? {} : { tools }) });
    const texts: string[] = [];
    JSON.parse(sent, (name, value: unknown) => {
      texts.push(name, ...(typeof value === 'string' ? [value] : []));
      return value;
    });
    expect(texts.filter((text) => /\p{Surrogate}/u.test(text))).toEqual([]);
    expect(argumentsIn(JSON.parse(sent) as Wire)).toEqual({ 'a\ufffd': 'a\ufffd', city: '😀' });
    expect(texts).toContain('a\ufffd 😀 \\ud83d');
  });

  test('a call without a name is no call, and its result is text', async () => {
    const conversation = [
      user('Go'),
      call(api, '{}', { name: '' }),
      output({ call_id: 'call_1' }, 'There is no tool.'),
    ];
    const sent = await sentBy(api, { conversation });
    expect(sent).not.toMatch(/"name":""|tool_calls|tool_use|function_call/u);
    expect(sent).toContain('There is no tool.');
  });
});

/** The arguments of the only call of a request. */
function argumentsIn(body: Wire): unknown {
  const found: unknown[] = [];
  JSON.parse(JSON.stringify(body), (_name, value: unknown) => {
    const { type, arguments: text, input } = (value ?? {}) as Wire;
    if (type === 'tool_use') found.push(input);
    else if (typeof text === 'string') found.push(JSON.parse(text));
    return value;
  });
  expect(found).toHaveLength(1);
  return found[0];
}

test('Messages: the encoder alone wraps arguments too', async () => {
  const conversation = [user('Go'), call('anthropic-messages', '[1]'), output({ call_id: 'call_1' }, 'Wrong.')];
  const { messages } = encodeMessages(await createPrompt('anthropic-messages', 'any', { conversation }));
  expect(messages[1]).toMatchObject({ content: [{ input: { invalid_arguments: '[1]' } }] });
});

describe('an answer of another service', () => {
  /** Two providers of one format, and the requests that the second one sends after an answer of the first one. */
  async function echoed(api: ProviderApi, answer: object, baseUrl: string) {
    const first = createProvider(api, {
      model: 'any',
      baseUrl: 'https://one.example/v1',
      environment: {},
      fetch: async () => Response.json(answer),
    });
    const { output_items: items } = await ask(first, { conversation: [user('Go')], tools: [GET_WEATHER] });
    const results = items.flatMap((item) => (item.type === 'function_call' ? [output(item, 'x')] : []));
    return sentBy(api, { conversation: [user('Go'), ...items, ...results], tools: [GET_WEATHER] }, { baseUrl });
  }

  const ANSWERS: Readonly<Record<ProviderApi, object>> = {
    'openai-responses': {
      id: 'resp_1',
      status: 'completed',
      output: [
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'OWN' },
        { type: 'x_search_call', id: 'OWN', status: 'completed' },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'getWeather', arguments: '{}', namespace: 'OWN' },
      ],
    },
    'openai-chat': {
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            reasoning_content: 'OWN',
            reasoning_details: [{ type: 'reasoning.encrypted', data: 'OWN' }],
            tool_calls: [
              {
                id: 'call_1',
                type: 'function',
                function: { name: 'getWeather', arguments: '{}' },
                extra_content: { google: { thought_signature: 'OWN' } },
              },
            ],
          },
        },
      ],
    },
    'anthropic-messages': {
      type: 'message',
      role: 'assistant',
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'OWN' },
        { type: 'server_tool_use', id: 'OWN', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 'OWN', content: [] },
        { type: 'tool_use', id: 'call_1', name: 'getWeather', input: {} },
      ],
    },
  };

  test.each(APIS)('%s: goes back without the members that only this service reads', async (api) => {
    expect(await echoed(api, ANSWERS[api], 'https://one.example/v1')).toContain('OWN');
    const sent = await echoed(api, ANSWERS[api], 'https://two.example/v1');
    expect(sent).not.toContain('OWN');
    expect(sent).toContain('getWeather');
    expect(sent).toContain('call_1');
  });

  test.each([
    ['gemini-3-pro', 'https://generativelanguage.googleapis.com/v1beta/openai', true],
    ['google/gemini-3.1-flash', 'https://aiplatform.googleapis.com/v1', true],
    ['gemini-2.5-flash', 'https://generativelanguage.googleapis.com/v1beta/openai', false],
    ['gemini-3-pro', 'https://two.example/v1', false],
  ])(
    '%s at %s: the first call of another model carries the signature for such calls: %s',
    async (model, baseUrl, has) => {
      const calls = [call('openai-chat', '{}'), call('openai-chat', '{}', { id: 'd', call_id: 'call_2' })];
      const results = [output({ call_id: 'call_1' }, 'x'), output({ call_id: 'call_2' }, 'y')];
      const conversation = [user('Go'), ...calls, ...results];
      const sent = await sentBy('openai-chat', { conversation, tools: [GET_WEATHER] }, { model, baseUrl });
      expect(sent.split('skip_thought_signature_validator')).toHaveLength(has ? 2 : 1);
    },
  );

  test('the signature of a call of Gemini itself goes back', async () => {
    const own = { extra_content: { google: { thought_signature: 'OWN' } } };
    const conversation = [user('Go'), call('openai-chat', '{}', own), output({ call_id: 'call_1' }, 'x')];
    const at = { model: 'gemini-3-pro', baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai' };
    const sent = await sentBy('openai-chat', { conversation, tools: [GET_WEATHER] }, at);
    expect(sent).toContain('OWN');
    expect(sent).not.toContain('skip_thought');
  });
});

test('a grammar belongs to a custom tool of Responses, and to no function', async () => {
  const format = '"format":{"type":"grammar","syntax":"regex","definition":"[12]"}';
  const sent = (api: ProviderApi) => sentBy(api, { conversation: [user('Go')], tools: [ONE_OR_TWO] });
  expect(await sent('openai-responses')).toContain(format);
  for (const api of ['openai-chat', 'anthropic-messages'] as const) expect(await sent(api)).not.toContain('[12]');
});
