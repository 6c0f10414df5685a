import { expect, test } from 'vitest';
import { agentService, defineAgent, keyVariable, modelSettings } from '#core/agent/index.js';
import { createProvider, type ProviderApi } from '#core/providers/index.js';
import { ask, user } from './asking.js';

interface Sent {
  url: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

async function sentTo(api: ProviderApi, baseUrl: string): Promise<Sent> {
  let sent: Sent | undefined;
  const provider = createProvider(api, {
    model: 'claude-sonnet-5-5',
    apiKey: 'the-key',
    baseUrl,
    retries: { maxRetries: 0 },
    fetch: async (url, init) => {
      const { headers, body } = init as { headers: Record<string, string>; body: string };
      sent = { url: String(url), headers, body: JSON.parse(body) as Record<string, unknown> };
      return new Response('{}', { status: 400 });
    },
  });
  await ask(provider, { conversation: [user('Go')] });
  return sent!;
}

test.each<[ProviderApi, string, string]>([
  ['openai-responses', 'https://r.openai.azure.com', 'https://r.openai.azure.com/openai/v1/responses'],
  ['openai-chat', 'https://r.openai.azure.com/openai/v1/', 'https://r.openai.azure.com/openai/v1/chat/completions'],
  [
    'openai-chat',
    'https://r.openai.azure.com/openai/deployments/d',
    'https://r.openai.azure.com/openai/deployments/d/chat/completions',
  ],
  ['openai-responses', 'https://gateway.example/v1/responses', 'https://gateway.example/v1/responses'],
  ['anthropic-messages', 'https://r.services.ai.azure.com', 'https://r.services.ai.azure.com/anthropic/v1/messages'],
  [
    'anthropic-messages',
    'https://r.services.ai.azure.com/anthropic',
    'https://r.services.ai.azure.com/anthropic/v1/messages',
  ],
  [
    'anthropic-messages',
    'https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages',
    'https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages',
  ],
  [
    'anthropic-messages',
    'https://bedrock-runtime.us-east-1.amazonaws.com',
    'https://bedrock-runtime.us-east-1.amazonaws.com/anthropic/v1/messages',
  ],
])('%s at %s: the request goes to %s', async (api, baseUrl, url) => {
  expect((await sentTo(api, baseUrl)).url).toBe(url);
});

test('Bedrock gets the key as a bearer token, and the version of the format', async () => {
  const { headers } = await sentTo('anthropic-messages', 'https://bedrock-runtime.us-east-1.amazonaws.com/anthropic');
  expect(headers).toMatchObject({ authorization: 'Bearer the-key', 'anthropic-version': '2023-06-01' });
  expect(headers).not.toHaveProperty('x-api-key');
});

test.each(['', '/publishers/anthropic/models', '/publishers/anthropic/models/m:rawPredict'])(
  'Vertex gets the model in the address, and the version of the format in the body (%s)',
  async (rest) => {
    const location = 'https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1';
    const { url, headers, body } = await sentTo('anthropic-messages', location + rest);
    expect(url).toBe(`${location}/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict`);
    expect(headers).toMatchObject({ authorization: 'Bearer the-key' });
    expect(body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', stream: true });
    expect(body).not.toHaveProperty('model');
  },
);

test.each([
  [
    'https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke-with-response-stream',
    /of Amazon Bedrock .*us-east-1\.amazonaws\.com\/anthropic/u,
  ],
  ['https://aiplatform.googleapis.com/v1', /of Vertex AI .*\/v1\/projects\/PROJECT\/locations\/LOCATION/u],
])('an address that speaks another format is refused with the right one: %s', (baseUrl, message) => {
  expect(() => createProvider('anthropic-messages', { model: 'm', baseUrl })).toThrow(message);
});

const KEY = { AZURE_OPENAI_API_KEY: 'k', ANTHROPIC_FOUNDRY_API_KEY: 'k', AWS_BEARER_TOKEN_BEDROCK: 'k' };
const { AWS_BEARER_TOKEN_BEDROCK } = KEY;

test.each<[ProviderApi, Record<string, string>, string, string]>([
  ['openai-responses', {}, 'https://api.openai.com/v1', 'OPENAI_API_KEY'],
  ['openai-responses', { OPENAI_BASE_URL: 'https://g.example' }, 'https://g.example', 'OPENAI_API_KEY'],
  [
    'openai-chat',
    { AZURE_OPENAI_API_KEY: 'k', AZURE_OPENAI_ENDPOINT: 'https://r.openai.azure.com' },
    'https://r.openai.azure.com',
    'AZURE_OPENAI_API_KEY',
  ],
  [
    'openai-chat',
    { ...KEY, AZURE_OPENAI_ENDPOINT: 'https://r.openai.azure.com', OPENAI_API_KEY: 'k' },
    'https://api.openai.com/v1',
    'OPENAI_API_KEY',
  ],
  ['openai-chat', { AZURE_OPENAI_API_KEY: 'k' }, 'https://api.openai.com/v1', 'OPENAI_API_KEY'],
  ['anthropic-messages', { ANTHROPIC_BASE_URL: ' https://g.example ' }, 'https://g.example', 'ANTHROPIC_API_KEY'],
  [
    'anthropic-messages',
    { ...KEY, ANTHROPIC_FOUNDRY_RESOURCE: 'r' },
    'https://r.services.ai.azure.com/anthropic',
    'ANTHROPIC_FOUNDRY_API_KEY',
  ],
  [
    'anthropic-messages',
    { AWS_BEARER_TOKEN_BEDROCK, AWS_REGION: 'eu-west-1' },
    'https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic',
    'AWS_BEARER_TOKEN_BEDROCK',
  ],
  [
    'anthropic-messages',
    { AWS_BEARER_TOKEN_BEDROCK, ANTHROPIC_BASE_URL: 'https://bedrock-mantle.us-east-1.api.aws/anthropic' },
    'https://bedrock-mantle.us-east-1.api.aws/anthropic',
    'AWS_BEARER_TOKEN_BEDROCK',
  ],
  [
    'anthropic-messages',
    { AWS_BEARER_TOKEN_BEDROCK, ANTHROPIC_BASE_URL: 'https://g.example', AWS_REGION: 'eu-west-1' },
    'https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic',
    'AWS_BEARER_TOKEN_BEDROCK',
  ],
])('an agent of %s without an address, with %j, uses %s with %s', (api, environment, baseUrl, key) => {
  const agent = defineAgent({ slug: 'mine', provider: { api, model: 'm' } });
  expect(keyVariable(agent, environment)).toBe(key);
  expect(modelSettings(agent.provider!, environment)).toMatchObject({ baseUrl });
});

test('a key that the agent names goes to the vendor alone, and a baseUrl replaces every variable', () => {
  const environment = { ...KEY, AZURE_OPENAI_ENDPOINT: 'https://r.openai.azure.com' };
  const provider = { api: 'openai-responses', model: 'm' } as const;
  expect(agentService({ ...provider, apiKeyEnv: 'MY_KEY' }, environment)?.baseUrl).toBe('https://api.openai.com/v1');
  expect(agentService({ ...provider, apiKeyCommand: ['x'] }, environment)?.baseUrl).toBe('https://api.openai.com/v1');
  expect(agentService({ ...provider, baseUrl: 'https://mine.example' }, environment)).toBeUndefined();
});
