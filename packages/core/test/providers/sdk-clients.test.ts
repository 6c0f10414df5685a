import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import { startScriptedServer, type Scenario, type ScriptedServer } from '#core/providers/index.js';

/** The official SDKs as clients of the scripted server: they accept its wire, and its rules accept their requests. */

const servers: ScriptedServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(scenario: Scenario): Promise<ScriptedServer> {
  const server = await startScriptedServer({ ...scenario, api_key: 'sk-scripted' });
  servers.push(server);
  return server;
}

const scenario: Scenario = {
  delta_length: 3,
  turns: [
    { type: 'failure', status: 429, headers: { 'retry-after-ms': '1' } },
    {
      parts: [
        { type: 'reasoning', text: 'I need the weather.' },
        { type: 'text', text: 'Grüße, 😀' },
        { type: 'call', name: 'getWeather', arguments: { city: 'Oslo' } },
        { type: 'call', name: 'getWeather', arguments: { city: 'Rom', exact: true } },
      ],
      usage: { input_tokens: 11, output_tokens: 22, cache_read_tokens: 5, reasoning_tokens: 6 },
    },
    { parts: [{ type: 'text', text: 'Done.' }] },
  ],
};

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

describe('the official SDKs as clients of the scripted server', () => {
  test('openai reads a Responses stream and its echo passes', async () => {
    const server = await start(scenario);
    const client = new OpenAI({ baseURL: server.baseUrl, apiKey: 'sk-scripted' });
    const tools: OpenAI.Responses.FunctionTool[] = [
      { type: 'function', name: 'getWeather', parameters, strict: false },
    ];
    const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content'];
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Weather?' }];
    const first = await client.responses.stream({ model: 'm', input, tools, include, store: false }).finalResponse();
    expect(first.output_text).toBe('Grüße, 😀');
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call']);
    expect(first.usage).toMatchObject({ input_tokens: 11, output_tokens: 22, total_tokens: 33 });
    const calls = first.output.filter((item) => item.type === 'function_call');
    expect(calls.map((call) => JSON.parse(call.arguments))).toEqual([{ city: 'Oslo' }, { city: 'Rom', exact: true }]);
    // The SDK adds the parsed arguments, which are not part of the wire.
    const echo = first.output.map((item) => {
      const { parsed_arguments: _, ...sent } = item as typeof item & { parsed_arguments?: unknown };
      if (sent.type !== 'message') return sent;
      const content = sent.content.map((part) => {
        const { parsed: __, ...wire } = part as typeof part & { parsed?: unknown };
        return wire;
      });
      return { ...sent, content };
    }) as OpenAI.Responses.ResponseInputItem[];
    input.push(...echo);
    for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: '4' });
    const last = await client.responses.stream({ model: 'm', input, tools, include, store: false }).finalResponse();
    expect(last.output_text).toBe('Done.');
    expect(server.violations).toEqual([]);
  });

  test('openai reads a Chat stream and its echo passes', async () => {
    const server = await start(scenario);
    const client = new OpenAI({ baseURL: server.baseUrl, apiKey: 'sk-scripted' });
    const tools: OpenAI.Chat.ChatCompletionFunctionTool[] = [
      { type: 'function', function: { name: 'getWeather', parameters } },
    ];
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Weather?' }];
    const stream_options = { include_usage: true };
    const stream = client.chat.completions.stream({ model: 'm', messages, tools, stream_options });
    const first = await stream.finalChatCompletion();
    const { message, finish_reason: reason } = first.choices[0]!;
    expect(message.content).toBe('Grüße, 😀');
    expect(reason).toBe('tool_calls');
    expect(first.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 22 });
    const calls = (message.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call] : []));
    expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual([
      { city: 'Oslo' },
      { city: 'Rom', exact: true },
    ]);
    messages.push(
      {
        role: 'assistant',
        content: message.content,
        tool_calls: calls.map(({ id, type, function: { name, arguments: text } }) => ({
          id,
          type,
          function: { name, arguments: text },
        })),
        reasoning_content: 'I need the weather.',
      } as OpenAI.Chat.ChatCompletionAssistantMessageParam,
      ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '4' })),
    );
    const last = await client.chat.completions.stream({ model: 'm', messages, tools, stream_options }).finalContent();
    expect(last).toBe('Done.');
    expect(server.violations).toEqual([]);
  });

  test('@anthropic-ai/sdk reads a Messages stream and its echo passes', async () => {
    const server = await start(scenario);
    const client = new Anthropic({ baseURL: server.baseUrl.replace(/\/v1$/u, ''), apiKey: 'sk-scripted' });
    const tools: Anthropic.Tool[] = [{ name: 'getWeather', input_schema: parameters as Anthropic.Tool.InputSchema }];
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Weather?' }];
    const max_tokens = 1000;
    const first = await client.messages.stream({ model: 'm', max_tokens, messages, tools }).finalMessage();
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'I need the weather.', signature: expect.stringMatching(/./u) as string },
      { type: 'text', text: 'Grüße, 😀' },
      { type: 'tool_use', input: { city: 'Oslo' } },
      { type: 'tool_use', input: { city: 'Rom', exact: true } },
    ]);
    expect(first.stop_reason).toBe('tool_use');
    expect(first.usage).toMatchObject({ input_tokens: 11, output_tokens: 22, cache_read_input_tokens: 5 });
    const uses = first.content.filter((block) => block.type === 'tool_use');
    messages.push(
      { role: 'assistant', content: first.content },
      { role: 'user', content: uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: '4' })) },
    );
    const last = await client.messages.stream({ model: 'm', max_tokens, messages, tools }).finalText();
    expect(last).toBe('Done.');
    expect(server.violations).toEqual([]);
  });

  test('a wrong key and a broken rule are errors that the SDKs understand', async () => {
    const server = await start({ turns: [] });
    const stranger = new OpenAI({ baseURL: server.baseUrl, apiKey: 'sk-other', maxRetries: 0 });
    const ask = { model: 'm', input: 'Hello', stream: true } as const;
    await expect(stranger.responses.create(ask)).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    const client = new Anthropic({ baseURL: server.baseUrl.replace(/\/v1$/u, ''), apiKey: 'sk-scripted' });
    const body = { model: 'm', max_tokens: 1, stream: true, messages: [], unknown: 1 } as const;
    await expect(client.messages.create(body as never)).rejects.toThrow(/unknown/u);
    expect(server.violations).toHaveLength(1);
  });
});
