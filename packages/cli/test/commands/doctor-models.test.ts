import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkModels } from '#cli/doctor/models.js';

test('the doctor shows the address that the environment sets, without its password', async () => {
  const home = await mkdtemp(join(tmpdir(), 'doctor-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const environment = {
    HOME: home,
    OPENAI_API_KEY: 'k',
    OPENAI_BASE_URL: 'https://me:secret@gateway.example/v1',
    AWS_BEARER_TOKEN_BEDROCK: 'k',
    AWS_REGION: 'eu-west-1',
  };
  const [check] = await checkModels(environment, home, () => {});
  expect(check!.detail).toContain('gpt: OPENAI_API_KEY is set, at https://••••••@gateway.example/v1 (OPENAI_BASE_URL)');
  expect(check!.detail).toContain(
    'claude-haiku: AWS_BEARER_TOKEN_BEDROCK is set, at https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic (AWS_REGION)',
  );
});
