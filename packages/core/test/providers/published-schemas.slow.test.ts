import { readFilePart } from '#core/history/index.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createProvider, type ProviderApi, type ProviderOptions } from '#core/providers/index.js';
import type { ModelRequest, ModelTool, OutputItem } from '#core/protocol/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { APIS, ask, GET_WEATHER, ONE_OR_TWO, PIXEL, RUN_RAW_SCRIPT, RUN_SCRIPT, user } from './asking.js';
import { requestsOf, rounds } from './conversations.js';
import { requestChecks } from './request-schemas.js';

/** The bodies that leave, checked by schemas made from the SDKs' types and the published bounds. */
const CHECKS = requestChecks();

type Settings = Partial<ProviderOptions>;

/** The body that a provider sends. */
async function sentBy(api: ProviderApi, request: ModelRequest, options: Settings = {}) {
  let sent = '';
  const provider = createProvider(api, {
    model: 'model-1',
    environment: {},
    retries: { maxRetries: 0 },
    fetch: async (_url, init) => {
      sent = init.body as string;
      return new Response('{"error":{"message":"No."}}', { status: 400 });
    },
    ...options,
  });
  await ask(provider, request);
  return JSON.parse(sent) as Record<string, unknown>;
}

const asked: fc.Arbitrary<Omit<ModelRequest, 'conversation'>> = fc.record(
  {
    system: fc.constant('Be brief.'),
    tools: fc.constantFrom<ModelTool[][]>([GET_WEATHER, RUN_SCRIPT], [GET_WEATHER, RUN_RAW_SCRIPT], [ONE_OR_TWO], []),
    temperature: fc.constantFrom(0, 0.5, 1),
    maxOutputTokens: fc.constantFrom(64, 20_000),
    reasoningEffort: fc.constantFrom('none', 'minimal', 'low', 'high', 'max'),
    toolChoice: fc.constantFrom('required' as const, { name: 'getWeather' }),
    parallelToolCalls: fc.boolean(),
    stopSequences: fc.constantFrom(['</stop>'], []),
    promptCache: fc.constantFrom({ key: 'thr_rtf7XIPHoLPR' }, { marks: false }),
  },
  { requiredKeys: [] },
);

const MODELS: Readonly<Record<ProviderApi, readonly string[]>> = {
  'openai-responses': ['gpt-5.5', 'gpt-4.1', 'model-1'],
  'openai-chat': ['gpt-5.5', 'gpt-4.1', 'model-1'],
  'anthropic-messages': ['claude-sonnet-4-5', 'claude-opus-4-7', 'model-1'],
};

const SETTINGS: Readonly<Record<ProviderApi, readonly Settings[]>> = {
  'openai-responses': [
    {},
    { responses: { reasoningSummary: 'detailed' } },
    { responses: { reasoningSummary: 'none' } },
  ],
  'openai-chat': [{}, { chat: { maxTokensName: 'max_completion_tokens', echoReasoning: 'always' } }],
  'anthropic-messages': [{}, { messages: { thinking: 'budget' } }, { messages: { thinkingDisplay: 'omitted' } }],
};

describe.each(APIS)('%s', (api) => {
  test('the request of any conversation, with any settings, fits the published schema', async () => {
    const options = fc
      .tuple(fc.constantFrom(...MODELS[api]), fc.constantFrom(...SETTINGS[api]))
      .map(([model, settings]) => ({ model, ...settings }));
    await fc.assert(
      fc.asyncProperty(rounds, asked, options, async (drawn, request, chosen) => {
        for (const conversation of requestsOf(drawn)) {
          expect(CHECKS[api](await sentBy(api, { ...request, conversation }, chosen))).toEqual([]);
        }
      }),
      { numRuns: tries(200) },
    );
  });

  test('images beside a message of the system are sent, and fit it', async () => {
    const told: OutputItem = { type: 'message', id: 's', role: 'system', content: 'A picture came.', images: [PIXEL] };
    const body = await sentBy(api, { conversation: [user('Go'), told, user('Well?')] });
    expect(CHECKS[api](body)).toEqual([]);
    expect(JSON.stringify(body)).toContain(PIXEL.data);
  });

  test('files of a message are sent, and fit it', async () => {
    const bytes = Buffer.from('%PDF-1.7');
    const files = [readFilePart('a.pdf', bytes), readFilePart('a.wav', Buffer.from('RIFF\x04\0\0\0WAVE', 'latin1'))];
    const body = await sentBy(api, { conversation: [user('Read', { files })] });
    expect(CHECKS[api](body)).toEqual([]);
    expect(JSON.stringify(body)).toContain(bytes.toString('base64'));
  });

  test.each([
    ['an unknown member', { surprise: 1 }],
    ['a wrong type', { model: 7 }],
    ['a temperature out of its bounds', { temperature: 3 }],
    ['no conversation', { input: undefined, messages: undefined }],
    ['a conversation of something else', { input: [{ type: 'nothing' }], messages: [{ role: 'nobody' }] }],
  ])('%s is detected', async (_name, wrong) => {
    const body = await sentBy(api, { conversation: [user('Go')] });
    expect(CHECKS[api](body)).toEqual([]);
    const other = Object.fromEntries(
      Object.entries({ ...body, ...wrong }).filter(
        ([name, value]) => value !== undefined && (name in body || !['input', 'messages'].includes(name)),
      ),
    );
    expect(CHECKS[api](other)).not.toEqual([]);
  });
});
