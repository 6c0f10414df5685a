import { describe, expect, test } from 'vitest';
import { defaultAgents } from '#core/agent/index.js';
import { encodeMessages, type MessagesSettings } from '#core/providers/anthropic-messages/encode.js';
import { encodeChat } from '#core/providers/openai-chat/encode.js';
import { encodeResponses, type ResponsesSettings } from '#core/providers/openai-responses/encode.js';
import { mergedBody } from '#core/providers/merged-body.js';
import { createProvider } from '#core/providers/index.js';
import { createPrompt } from '#core/providers/prompt.js';
import type { ModelRequest } from '#core/protocol/index.js';
import { modelFacts } from '#core/protocol/known-models.js';
import { MODEL_FAMILIES } from '#core/protocol/model-families.js';
import { GET_WEATHER, payloadsOf, user } from './asking.js';

/* A request holds only members that its model accepts. */

const conversation = [user('Go')];

async function messages(model: string, request: Partial<ModelRequest>, settings?: MessagesSettings) {
  return encodeMessages(await createPrompt('anthropic-messages', model, { conversation, ...request }), settings);
}

async function responses(model: string, request: Partial<ModelRequest>, settings?: ResponsesSettings) {
  return encodeResponses(await createPrompt('openai-responses', model, { conversation, ...request }), settings);
}

describe('the built-in agents', () => {
  test('talk to models that live, have a window and have prices', () => {
    const [local, ...hosted] = defaultAgents().toReversed();
    expect(local).toMatchObject({ slug: 'ollama' });
    for (const { provider } of hosted)
      expect(modelFacts(provider!.model)).toEqual({
        ...modelFacts(provider!.model),
        shutdown: undefined,
        contextWindow: expect.any(Number) as unknown,
        prices: expect.objectContaining({ cacheRead: expect.any(Number) as unknown }) as unknown,
      });
  });

  test('have slugs that are the names of no model', () => {
    const named = MODEL_FAMILIES.flatMap(({ models }) => models);
    expect(defaultAgents().filter(({ slug }) => named.includes(slug))).toEqual([]);
  });
});

describe('the facts about models', () => {
  const LIMITS = ['files', 'structuredOutput', 'contextWindow', 'maxOutputTokens', 'prices', 'shutdown'];
  const families = MODEL_FAMILIES.map((family) => [family.name, family] as const);

  test.each(families)('%s: every statement has a page and a day, and no two contradict', (_name, family) => {
    for (const { source, read, of } of family.statements) {
      expect(source).toMatch(/^https:\/\//u);
      expect(new Date(read).toISOString().slice(0, 10)).toBe(read);
      expect(family.models).toEqual(expect.arrayContaining([...(of ?? [])]));
    }
    const ofOne = family.statements.filter(({ of }) => of !== undefined).flatMap((statement) => Object.keys(statement));
    const parameters = ofOne.filter((name) => !['source', 'read', 'of', ...LIMITS].includes(name));
    expect(parameters).toEqual([]);
    for (const model of family.models) {
      const stated = family.statements
        .filter(({ of }) => of === undefined || of.includes(model))
        .flatMap(({ source: _source, read: _read, of: _of, ...facts }) => Object.keys(facts));
      expect(stated).toEqual([...new Set(stated)]);
    }
  });

  test('a model is in one family', () => {
    const named = MODEL_FAMILIES.flatMap(({ models }) => models);
    expect(named).toEqual([...new Set(named)]);
    for (const name of named) expect(modelFacts(name), name).not.toEqual({});
  });

  test.each([
    ['claude-sonnet-4-5', 'anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['claude-sonnet-4-5', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['claude-opus-4-6', 'global.anthropic.claude-opus-4-6-v1'],
    ['claude-opus-4-1', 'claude-opus-4-1@20250805'],
    ['claude-haiku-5-5', 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-5-5'],
    ['claude-opus-5-5', 'anthropic/claude-opus-5.5'],
    ['claude-sonnet-5-5', 'claude-sonnet-5-5[1m]'],
    ['gpt-6-luna', 'openai/gpt-6-luna:batch'],
    ['gpt-4.1', 'ft:gpt-4.1-2025-04-14:company::id'],
    ['gpt-6.1-terra', 'openai.gpt-6.1-terra'],
  ])('%s is known as %s', (name, spelling) => {
    expect(modelFacts(spelling)).toBe(modelFacts(name));
  });

  test.each(['claude-opus-5-6', 'gpt-7', 'gpt-5-turbo', 'qwen3-coder:30b', 'my.claude-opus-5', ''])(
    'nothing is known of %j',
    (name) => {
      expect(modelFacts(name)).toEqual({});
    },
  );
});

describe('Messages', () => {
  test.each([
    'claude-sonnet-4-5',
    'claude-sonnet-4-5-20250929',
    'claude-haiku-4-5',
    'claude-opus-4-5',
    'claude-opus-4-20250514',
    'claude-3-7-sonnet-latest',
  ])('%s gets a budget, because it refuses adaptive thinking', async (model) => {
    const body = await messages(model, { reasoningEffort: 'low', maxOutputTokens: 10_000 });
    expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: 2000 });
    expect(body).not.toHaveProperty('output_config');
    expect(await messages(model, { temperature: 0.5 })).toMatchObject({ temperature: 0.5 });
  });

  test.each(['claude-sonnet-4-6', 'claude-opus-4-8', 'claude-sonnet-5-5', 'claude-haiku-5-5', 'another-model'])(
    '%s gets adaptive thinking',
    async (model) => {
      const body = await messages(model, { reasoningEffort: 'minimal' });
      expect(body).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } });
    },
  );

  test('Claude 4.6 gets the nearest effort that it knows', async () => {
    const efforts = async (model: string) => {
      const bodies = await Promise.all(
        (['xhigh', 'max'] as const).map((reasoningEffort) => messages(model, { reasoningEffort })),
      );
      return bodies.map((body) => body.output_config?.effort);
    };
    expect(await efforts('claude-sonnet-4-6')).toEqual(['high', 'max']);
    expect(await efforts('claude-opus-4-6')).toEqual(['high', 'max']);
    expect(await efforts('claude-opus-5-5')).toEqual(['xhigh', 'max']);
  });

  test('models after 4.6 get no temperature, and the display of thinking can be set', async () => {
    expect(await messages('claude-sonnet-5-5', { temperature: 0.5 })).not.toHaveProperty('temperature');
    const shown = await messages('claude-sonnet-5-5', { reasoningEffort: 'high' }, { thinkingDisplay: 'summarized' });
    expect(shown.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
  });

  test.each([
    ['claude-opus-5-5', { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } }],
    ['claude-sonnet-5-5', { thinking: { type: 'between_tools' } }],
    ['claude-haiku-5-5', { thinking: { type: 'disabled' } }],
    ['claude-opus-4-8', {}],
    ['claude-sonnet-4-5', { thinking: { type: 'disabled' } }],
    ['another-model', { thinking: { type: 'disabled' } }],
  ])('%s thinks as little as it can with the effort none', async (model, expected) => {
    const { thinking, output_config } = await messages(model, { reasoningEffort: 'none' });
    expect(JSON.parse(JSON.stringify({ thinking, output_config }))).toEqual(expected);
  });

  test('a model that says nothing between two calls by default is asked for a summary of its thinking', async () => {
    const { thinking } = await messages('claude-sonnet-5-5', {});
    expect(thinking).toEqual({ type: 'adaptive', display: 'summarized' });
    expect((await messages('claude-sonnet-5-5', {}, { thinkingDisplay: 'omitted' })).thinking).toMatchObject({
      display: 'omitted',
    });
    for (const model of ['claude-opus-4-6', 'claude-haiku-4-5', 'another-model'])
      expect(await messages(model, {})).not.toHaveProperty('thinking');
  });

  test('a model that refuses a forced call may choose', async () => {
    const forced = { tools: [GET_WEATHER], toolChoice: 'required' as const };
    expect(await messages('claude-sonnet-5-5', forced)).not.toHaveProperty('tool_choice');
    expect(await messages('claude-opus-4-6', forced)).toMatchObject({ tool_choice: { type: 'any' } });
  });

  test('an answer is never longer than its model allows', async () => {
    expect((await messages('claude-haiku-4-5', { maxOutputTokens: 100_000 })).max_tokens).toBe(64_000);
    expect((await messages('another-model', { maxOutputTokens: 100_000 })).max_tokens).toBe(100_000);
  });
});

describe('OpenAI', () => {
  test.each(['gpt-6.2-sol', 'gpt-5.6-sol', 'gpt-5-mini', 'o4-mini', 'openai/gpt-5.6-terra'])(
    '%s gets no temperature',
    async (model) => {
      expect(await responses(model, { temperature: 0 })).not.toHaveProperty('temperature');
      const isOptional = modelFacts(model).efforts?.includes('none') === true;
      const unreasoned = await responses(model, { temperature: 0, reasoningEffort: 'none' });
      expect('temperature' in unreasoned).toBe(isOptional);
      const chat = encodeChat(await createPrompt('openai-chat', model, { conversation, temperature: 0 }));
      expect(chat).not.toHaveProperty('temperature');
    },
  );

  test.each(['gpt-4.1', 'gpt-5.2-chat-latest', 'qwen3-coder'])('%s gets a temperature', async (model) => {
    expect(await responses(model, { temperature: 0 })).toMatchObject({ temperature: 0 });
  });

  test('a model that never reasons gets no effort', async () => {
    expect(await responses('gpt-4.1', { reasoningEffort: 'low' })).not.toHaveProperty('reasoning');
    const chat = encodeChat(await createPrompt('openai-chat', 'gpt-4.1', { conversation, reasoningEffort: 'low' }));
    expect(chat).not.toHaveProperty('reasoning_effort');
  });

  test.each([
    ['gpt-6.2-sol', 'none', 'low', 'low'],
    ['gpt-6.2-sol', 'max', 'max', 'xhigh'],
    ['gpt-6-luna', 'minimal', 'low', 'low'],
    ['gpt-6-luna', 'none', 'none', 'none'],
    ['gpt-5', 'max', 'high', 'high'],
    ['gpt-5.1', 'xhigh', 'high', 'high'],
    ['another-model', 'minimal', 'minimal', 'minimal'],
  ] as const)('%s gets for the effort %s its nearest', async (model, reasoningEffort, inResponses, inChat) => {
    expect((await responses(model, { reasoningEffort })).reasoning?.effort).toBe(inResponses);
    const chat = encodeChat(await createPrompt('openai-chat', model, { conversation, reasoningEffort }));
    expect(chat.reasoning_effort).toBe(inChat);
  });

  test('a model that refuses tools with reasoning does not reason beside tools, at OpenAI alone', async () => {
    const efforts = async (model: string, settings: object) => {
      const request = { conversation, tools: [GET_WEATHER], reasoningEffort: 'high' as const };
      return encodeChat(await createPrompt('openai-chat', model, request), settings).reasoning_effort;
    };
    expect(await efforts('gpt-5.6-sol', { toolsWithReasoning: false })).toBe('none');
    expect(await efforts('gpt-5.6-sol', {})).toBe('high');
    expect(await efforts('gpt-5.1', { toolsWithReasoning: false })).toBe('high');
  });

  test('the summary of reasoning can be set', async () => {
    const summaries = (['detailed', 'none'] as const).map(async (reasoningSummary) => {
      const body = await responses('gpt-5.6-sol', { reasoningEffort: 'low' }, { reasoningSummary });
      return body.reasoning;
    });
    expect(await Promise.all(summaries)).toEqual([{ effort: 'low', summary: 'detailed' }, { effort: 'low' }]);
  });
});

describe('settings of a server', () => {
  function asking(options: object) {
    const asked: { url: string; headers: Headers; body: Record<string, unknown> }[] = [];
    const provider = createProvider('openai-responses', {
      model: 'model-1',
      environment: {},
      retries: { maxRetries: 0 },
      fetch: async (url, init) => {
        const body = JSON.parse(init.body as string) as Record<string, unknown>;
        asked.push({ url, headers: new Headers(init.headers), body });
        return new Response('{"error":{"message":"No, key-2."}}', { status: 400 });
      },
      ...options,
    });
    return { provider, asked };
  }

  test('members of one server are merged, and the tools of the request stay', async () => {
    const search = { type: 'web_search' };
    const extraBody = { tools: [search], include: ['web_search_call.results'], reasoning: { mode: 'pro' }, seed: 1 };
    const { provider, asked } = asking({ extraBody });
    await payloadsOf(provider, { conversation, tools: [GET_WEATHER], reasoningEffort: 'low' });
    expect(asked[0]!.body).toMatchObject({
      tools: [{ name: 'getWeather' }, search],
      include: ['reasoning.encrypted_content', 'web_search_call.results'],
      reasoning: { effort: 'low', summary: 'auto', mode: 'pro' },
      seed: 1,
    });
  });

  test('a member with the name of a prototype is only a member', () => {
    const merged = mergedBody({ a: 1 }, JSON.parse('{"__proto__":{"polluted":1}}') as Record<string, unknown>);
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(JSON.stringify(merged)).toBe('{"a":1,"__proto__":{"polluted":1}}');
  });

  test('a query is added to the address', async () => {
    const { provider, asked } = asking({
      baseUrl: 'https://x.openai.azure.com/openai',
      query: { 'api-version': '2026-01-01' },
    });
    await payloadsOf(provider, { conversation });
    expect(asked[0]!.url).toBe('https://x.openai.azure.com/openai/responses?api-version=2026-01-01');
  });

  test('a function returns the key before each attempt, and no event repeats it', async () => {
    let given = 0;
    const { provider, asked } = asking({ apiKey: async () => `key-${(given += 1)}` });
    await payloadsOf(provider, { conversation });
    const payloads = await payloadsOf(provider, { conversation });
    expect(asked.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer key-1', 'Bearer key-2']);
    expect(JSON.stringify(payloads)).not.toContain('key-2');
  });

  test('a key that cannot be read is a failure with its reason', async () => {
    const { provider, asked } = asking({ apiKey: () => Promise.reject(new Error('The vault is locked.')) });
    const error = (await payloadsOf(provider, { conversation })).find(({ type }) => type === 'response_error');
    const message = expect.stringContaining('The vault is locked.') as unknown;
    expect(error).toMatchObject({ code: 'KeyUnavailable', retryable: false, message });
    expect(asked).toEqual([]);
  });
});
