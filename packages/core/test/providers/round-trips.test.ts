import { afterEach, describe, expect, test } from 'vitest';
import {
  createProvider,
  scriptedModel,
  startScriptedServer,
  type ProviderApi,
  type ProviderOptions,
  type Scenario,
  type ScriptedServer,
} from '#core/providers/index.js';
import type { ModelProvider, OutputItem } from '#core/protocol/index.js';
import {
  APIS,
  ask,
  callsOf,
  GET_WEATHER,
  output,
  payloadsOf,
  PIXEL,
  RUN_RAW_SCRIPT,
  RUN_SCRIPT,
  scriptOutput,
  Talk,
  user,
} from './asking.js';

const servers: ScriptedServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(
  api: ProviderApi,
  scenario: Scenario,
  options: Partial<ProviderOptions> = {},
): Promise<{ server: ScriptedServer; provider: ModelProvider }> {
  const server = await startScriptedServer(scenario);
  servers.push(server);
  const provider = createProvider(api, {
    model: 'model-1',
    baseUrl: server.baseUrl,
    retries: { baseDelayMs: 1 },
    environment: {},
    ...options,
  });
  return { server, provider };
}

const say = (text: string): Scenario['turns'][number] => ({ type: 'answer', parts: [{ type: 'text', text }] });

describe.each(APIS)('%s over HTTP', (api) => {
  test('text arrives unchanged, with its usage', async () => {
    const text = 'Grüße, 😀\n天 and more than one delta of it';
    const usage = { input_tokens: 12, output_tokens: 7, cache_read_tokens: 3 };
    const { server, provider } = await start(api, { turns: [{ parts: [{ type: 'text', text }], usage }] });
    const response = await ask(provider, { system: 'Be brief.', conversation: [user('Hello')] });
    expect(response.status).toBe('completed');
    expect(response.output_items).toMatchObject([{ type: 'message', role: 'assistant', content: text, api }]);
    expect(response.usage).toMatchObject(usage);
    expect(server.violations).toEqual([]);
  });

  test('reasoning, text and parallel calls are sent back unchanged, with a result for each call', async () => {
    const { server, provider } = await start(api, {
      turns: [
        {
          parts: [
            { type: 'reasoning', text: 'Two cities, two calls.' },
            { type: 'reasoning', text: '' },
            { type: 'text', text: 'I look.' },
            { type: 'call', name: 'getWeather', arguments: { city: 'Oslo' } },
            { type: 'call', name: 'getWeather', arguments: { city: 'Rome' } },
          ],
        },
        say('Cold, and warm.'),
        say('You are welcome.'),
      ],
    });
    const talk = new Talk(provider, { system: 'Be brief.', tools: [GET_WEATHER], reasoningEffort: 'medium' });
    const calls = callsOf(await talk.say(user('Weather?')));
    expect(calls.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual([
      ['getWeather', { city: 'Oslo' }],
      ['getWeather', { city: 'Rome' }],
    ]);
    // Toolscript sends results that arrive in another order in the order of the calls.
    await talk.say(output(calls[1]!, '21'), output(calls[0]!, '-4', { success: false }));
    const last = await talk.say(user('Thanks'));
    expect(server.violations).toEqual([]);
    expect(last.output_items).toMatchObject([{ content: 'You are welcome.' }]);
    expect(server.turnsLeft).toBe(0);
  });

  test('a script through the function tool arrives as a call, and its report is sent back as the output', async () => {
    const code = 'return "a\\n" + await tools.getWeather({ city: "Oslo" });\n// `quotes` and </tool-calls>';
    const { server, provider } = await start(api, {
      turns: [
        {
          parts: [
            { type: 'text', text: 'Wait.' },
            { type: 'script', code },
          ],
        },
        say('Done.'),
      ],
    });
    const talk = new Talk(provider, { tools: [RUN_SCRIPT] });
    const [call] = callsOf(await talk.say(user('Go')));
    expect(JSON.parse(call!.arguments)).toEqual({ code });
    const script = { type: 'script_execution', id: 'item_script', call_id: call!.call_id, language: 'ts' } as const;
    const last = await talk.say(
      { ...script, format: 'tool', carrier: 'tool', source_code: code, source_sha256: '', status: 'completed' },
      scriptOutput(call!.call_id, 'Script completed, 1 operation.'),
    );
    expect(server.violations).toEqual([]);
    expect(last.output_items).toMatchObject([{ content: 'Done.' }]);
    expect(JSON.stringify(server.requests[1])).toContain('Script completed, 1 operation.');
  });

  test('a script through the raw tool is raw if the format has such tools, and otherwise a function’s argument', async () => {
    const code = 'return `raw`;';
    const { server, provider } = await start(api, {
      turns: [{ parts: [{ type: 'script', code }] }, say('Done.')],
    });
    const talk = new Talk(provider, { tools: [RUN_RAW_SCRIPT] });
    const [call] = callsOf(await talk.say(user('Go')));
    expect(provider.capabilities.customTools).toBe(api === 'openai-responses');
    expect(call!.arguments).toBe(provider.capabilities.customTools ? code : JSON.stringify({ code }));
    await talk.say(scriptOutput(call!.call_id, 'Script completed.'));
    expect(server.violations).toEqual([]);
  });

  test('a script in the text is sent back byte for byte, joined from its pieces and followed by its result', async () => {
    const code = 'return 1;';
    const { server, provider } = await start(api, {
      turns: [
        {
          parts: [
            { type: 'text', text: 'Before.\n\n' },
            { type: 'script', code, carrier: 'text' },
            { type: 'text', text: '\n  After. ' },
          ],
        },
        { parts: [{ type: 'text', text: 'Done.' }], expect: ['<tool-output call_id="call_s">', 'Script completed.'] },
      ],
    });
    const talk = new Talk(provider);
    const response = await talk.say(user('Go'));
    const [whole] = response.output_items as Extract<OutputItem, { type: 'message' }>[];
    const [before, after] = whole!.content.split(/<tool-calls>[^]*<\/tool-calls>/u);
    const raw = whole!.content.slice(before!.length, whole!.content.length - after!.length);
    const { native_id, answer_id } = whole!;
    const script: OutputItem = {
      type: 'script_execution',
      id: 'item_script',
      call_id: 'call_s',
      language: 'ts',
      format: 'xml',
      carrier: 'text',
      raw_text: raw,
      source_code: code,
      source_sha256: '',
      status: 'completed',
      ...(native_id === undefined ? {} : { native_id }),
      answer_id,
    };
    // The order of items in a history: the result follows its call.
    talk.conversation.splice(
      1,
      1,
      { ...whole!, content: before! },
      script,
      scriptOutput('call_s', 'Script completed.'),
      { ...whole!, id: 'item_tail', content: after! },
    );
    const last = await talk.say();
    expect(server.violations).toEqual([]);
    expect(last.output_items).toMatchObject([{ content: 'Done.' }]);
  });

  test('a script that was suspended has its later outcome as a new message', async () => {
    const { server, provider } = await start(api, {
      turns: [
        { parts: [{ type: 'script', code: 'return 1;' }] },
        say('It waits.'),
        { parts: [{ type: 'text', text: 'Done.' }], expect: ['Script completed at last.'] },
      ],
    });
    const talk = new Talk(provider, { tools: [RUN_SCRIPT] });
    const [call] = callsOf(await talk.say(user('Go')));
    await talk.say(scriptOutput(call!.call_id, 'Script suspended.', { status: 'suspended' }), user('And now?'));
    await talk.say(scriptOutput(call!.call_id, 'Script completed at last.'));
    expect(server.violations).toEqual([]);
    expect(server.turnsLeft).toBe(0);
  });

  test('images of results and of users are image parts', async () => {
    const { server, provider } = await start(api, {
      turns: [
        { parts: [{ type: 'call', name: 'getWeather', arguments: { city: 'Oslo' } }] },
        { parts: [{ type: 'text', text: 'Grey.' }], expect: [PIXEL.data] },
      ],
    });
    const { data, ...reference } = PIXEL;
    const asked: string[] = [];
    const talk = new Talk(provider, {
      tools: [GET_WEATHER],
      async resolveImages(images) {
        asked.push(...images.map(({ sha256 }) => sha256));
        return images.map((image) => ({ ...image, data }));
      },
    });
    const [call] = callsOf(await talk.say(user('Look', { images: [reference] })));
    await talk.say(output(call!, 'A picture', { images: [reference] }));
    expect(server.violations).toEqual([]);
    expect(asked.length).toBe(3);
    expect(JSON.stringify(server.requests[0])).toContain(data);
  });

  test('an image without bytes is a line of text', async () => {
    const { server, provider } = await start(api, { turns: [say('I see nothing.')] });
    const { data: _, ...reference } = { ...PIXEL, path: 'shots/one.png' };
    await ask(provider, { conversation: [user('Look', { images: [reference] })] });
    expect(JSON.stringify(server.requests[0])).toContain(
      '[The image shots/one.png is not shown: its bytes are not available.]',
    );
    expect(server.violations).toEqual([]);
  });

  test('a refusal is sent back as text', async () => {
    const { server, provider } = await start(api, {
      turns: [{ parts: [{ type: 'refusal', text: 'I would rather not.' }], stop: 'refusal' }, say('Gladly.')],
    });
    const talk = new Talk(provider);
    const response = await talk.say(user('Do it'));
    expect(response.output_items).toMatchObject([{ type: 'message', content: 'I would rather not.' }]);
    await talk.say(user('Then something else'));
    expect(server.violations).toEqual([]);
  });

  test('an answer that the maximum output truncated is incomplete, and its half call is dropped', async () => {
    const { server, provider } = await start(api, {
      turns: [
        {
          parts: [
            { type: 'text', text: 'I begin' },
            { type: 'call', name: 'getWeather', arguments: '{"city":"Os' },
          ],
          stop: 'max_output_tokens',
        },
      ],
    });
    const payloads = await payloadsOf(provider, { conversation: [user('Go')], tools: [GET_WEATHER] });
    expect(payloads.at(-1)).toMatchObject({ status: 'incomplete', incomplete_reason: 'max_output_tokens' });
    expect(payloads).toContainEqual(expect.objectContaining({ type: 'item_error', code: 'ArgumentsIncomplete' }));
    expect(server.violations).toEqual([]);
  });

  test('an error in the middle of an answer is reported after the earlier text, and nothing is retried', async () => {
    const { server, provider } = await start(api, {
      turns: [
        {
          parts: [
            { type: 'text', text: 'I begin' },
            { type: 'error', code: 'overloaded_error', message: 'Too many.' },
          ],
        },
        say('Never asked for.'),
      ],
    });
    const payloads = await payloadsOf(provider, { conversation: [user('Go')] });
    expect(payloads.filter(({ type }) => type === 'response_error')).toMatchObject([
      { code: 'overloaded_error', message: 'Too many.', retryable: true, request_id: 'req_scripted_1' },
    ]);
    expect(payloads.at(-1)).toMatchObject({ type: 'response_done', status: 'failed' });
    expect(server.requests).toHaveLength(1);
  });

  test('a temporary rate limit is awaited and retried', async () => {
    const { server, provider } = await start(api, {
      turns: [
        { type: 'failure', status: 429, code: 'rate_limit_exceeded', headers: { 'retry-after-ms': '5' } },
        { type: 'failure', status: 503 },
        { type: 'drop' },
        say('At last.'),
      ],
    });
    const response = await ask(provider, { conversation: [user('Go')] });
    expect(response).toMatchObject({ status: 'completed', output_items: [{ content: 'At last.' }] });
    expect(server.requests).toHaveLength(4);
    expect(server.violations).toEqual([]);
  });

  test('an answer that breaks off before any content is asked for again', async () => {
    const { server, provider } = await start(api, { turns: [{ parts: [{ type: 'cut' }] }, say('Here it is.')] });
    const payloads = await payloadsOf(provider, { conversation: [user('Go')] });
    const types = payloads.map(({ type }) => type);
    expect(types.filter((type) => type === 'request_retry' || type === 'response_start')).toEqual([
      'request_retry',
      'response_start',
    ]);
    expect(types).not.toContain('response_error');
    expect(server.requests).toHaveLength(2);
  });

  test('a connection that breaks in the middle of an answer ends it, and the earlier text is kept', async () => {
    const { server, provider } = await start(api, {
      turns: [{ parts: [{ type: 'text', text: 'I begin and' }, { type: 'cut' }] }, say('Never asked for.')],
    });
    const payloads = await payloadsOf(provider, { conversation: [user('Go')] });
    const said = payloads.flatMap((payload) => (payload.type === 'item_delta' ? [payload.delta] : [])).join('');
    expect(said).toBe('I begin and');
    expect(payloads).toContainEqual(expect.objectContaining({ type: 'response_error', code: 'AnswerInterrupted' }));
    expect(server.requests).toHaveLength(1);
  });

  test('silence for too long ends an answer', async () => {
    const { provider } = await start(
      api,
      {
        turns: [
          {
            parts: [
              { type: 'text', text: 'I' },
              { type: 'wait', ms: 60_000 },
            ],
          },
        ],
      },
      { idleTimeoutMs: 100, retries: { maxRetries: 0 } },
    );
    const payloads = await payloadsOf(provider, { conversation: [user('Go')] });
    expect(payloads).toContainEqual(
      expect.objectContaining({ type: 'response_error', code: 'AnswerStalled', retryable: true }),
    );
  });

  test('an abort ends an answer at once as cancelled, and closes the provider’s connection', async () => {
    const { server, provider } = await start(api, {
      turns: [
        {
          parts: [
            { type: 'text', text: 'I begin' },
            { type: 'wait', ms: 60_000 },
            { type: 'text', text: ' and go on' },
          ],
        },
        say('Again.'),
      ],
    });
    const abort = new AbortController();
    const items: string[] = [];
    let status: unknown;
    for await (const payload of provider.stream({ conversation: [user('Go')] }, { signal: abort.signal })) {
      if (payload.type === 'item_delta') abort.abort();
      items.push(payload.type);
      if (payload.type === 'response_done') status = payload.status;
    }
    expect(status).toBe('cancelled');
    expect(items).toContain('item_cancelled');
    await ask(provider, { conversation: [user('Go'), user('Go on')] });
    expect(server.violations).toEqual([]);
  });

  test('a request that breaks a rule of the conversation is rejected with a sentence, and not retried', async () => {
    const { server, provider } = await start(api, { turns: [say('One.'), say('Two.')] });
    const talk = new Talk(provider);
    await talk.say(user('Hello'));
    talk.conversation[0] = user('Hello, changed');
    const response = await talk.say(user('More'));
    expect(response.status).toBe('failed');
    expect(response.error?.message).toContain('was changed or removed');
    expect(server.violations).toHaveLength(1);
    expect(server.turnsLeft).toBe(1);
  });

  test('a scripted model in this process answers like the server', async () => {
    const scenario: Scenario = {
      turns: [
        {
          parts: [
            { type: 'reasoning', text: 'Hm.' },
            { type: 'text', text: 'Well:' },
            { type: 'call', name: 'getWeather', arguments: { city: 'Oslo' } },
          ],
        },
        say('Done.'),
      ],
    };
    const { provider } = await start(api, scenario);
    const model = scriptedModel(scenario, { api, model: 'model-1' });
    const run = async (asked: ModelProvider): Promise<unknown> => {
      const talk = new Talk(asked, { tools: [GET_WEATHER], reasoningEffort: 'low' });
      const [call] = callsOf(await talk.say(user('Go')));
      await talk.say(output(call!, '4'));
      return talk.conversation.map((item) => ({ ...item, id: '', answer_id: '', service: '' }));
    };
    expect(await run(model)).toEqual(await run(provider));
    expect(model.violations).toEqual([]);
    expect(model.turnsLeft).toBe(0);
  });
});

describe.each(['openai-chat', 'anthropic-messages'] as const)('%s', (api) => {
  test('a stop sequence ends the answer at its place', async () => {
    const { server, provider } = await start(api, {
      turns: [
        {
          parts: [
            { type: 'script', code: 'return 1;', carrier: 'text' },
            { type: 'text', text: ' a tail' },
          ],
        },
        say('Done.'),
      ],
    });
    expect(provider.capabilities.stopSequences).toBe(true);
    const talk = new Talk(provider, { stopSequences: ['</tool-calls>'] });
    const { output_items: items } = await talk.say(user('Go'));
    expect(items).toMatchObject([{ content: '<tool-calls>\nreturn 1;\n' }]);
    await talk.say(user('Go on'));
    expect(server.violations).toEqual([]);
  });
});
