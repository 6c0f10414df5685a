import { expect, test } from 'vitest';
import { defineAgent, keyVariable, modelSettings } from '#core/agent/index.js';
import { keyOfCommand } from '#core/agent/key-of-command.js';

const node = process.execPath;

test('the settings of an agent file are options of createProvider', () => {
  const { provider } = defineAgent({
    slug: 'mine',
    provider: {
      api: 'openai-responses',
      model: 'gpt-5.6-sol',
      baseUrl: 'https://x.openai.azure.com/openai',
      headers: { 'x-team': 'blue' },
      query: { 'api-version': '2026-01-01' },
      extraBody: { service_tier: 'flex' },
      retries: { maxRetries: 5 },
      firstTokenTimeoutMs: 60_000,
      totalTimeoutMs: 600_000,
      reasoningSummary: 'detailed',
      background: true,
    },
  });
  expect(modelSettings(provider!)).toEqual({
    baseUrl: 'https://x.openai.azure.com/openai',
    headers: { 'x-team': 'blue' },
    query: { 'api-version': '2026-01-01' },
    extraBody: { service_tier: 'flex' },
    retries: { maxRetries: 5 },
    firstTokenTimeoutMs: 60_000,
    totalTimeoutMs: 600_000,
    responses: { reasoningSummary: 'detailed', background: true },
    messages: {},
  });
});

test('an agent with a command for its key needs no variable', async () => {
  const apiKeyCommand = [node, '-e', 'console.log("sk-test ")'];
  const agent = defineAgent({ slug: 'mine', provider: { api: 'openai-chat', model: 'm', apiKeyCommand } });
  expect(keyVariable(agent)).toBeUndefined();
  const { apiKey } = modelSettings(agent.provider!);
  expect(await apiKey!()).toBe('sk-test');
});

test.each([
  ['fails', [node, '-e', 'process.exit(3)'], /failed \(3\)/u],
  ['writes nothing', [node, '-e', ''], /wrote nothing/u],
  ['does not exist', ['/no/such/program'], /failed \(ENOENT\)/u],
])('a command that %s says so, and runs again at the next request', async (_what, command, reason) => {
  const key = keyOfCommand(command);
  await expect(key()).rejects.toThrow(reason);
  await expect(key()).rejects.toThrow(reason);
});
