import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import { decodeAnswer } from '#core/providers/decode-stream.js';
import { EventEnvelopes } from '#core/protocol/index.js';
import { encodeMessages } from '#core/providers/anthropic-messages/encode.js';
import { encodeChat } from '#core/providers/openai-chat/encode.js';
import { encodeResponses } from '#core/providers/openai-responses/encode.js';
import { createPrompt, type Prompt } from '#core/providers/prompt.js';
import type { ProviderApi } from '#core/providers/index.js';
import type { OutputItem } from '#core/protocol/index.js';
import { APIS, GET_WEATHER, output, RUN_SCRIPT, user } from './asking.js';
import { haveRecordings, recordings, type Recording } from './recordings.js';
import { unpaired } from './pairs.js';
import { requestChecks } from './request-schemas.js';

/* Answers of real services that go back to another model, in every format. */

type Json = Record<string, unknown>;

const CHECKS = requestChecks();

const WAYS: readonly (readonly [name: string, api: ProviderApi, encode: (prompt: Prompt) => object])[] = [
  ['Responses', 'openai-responses', (prompt) => encodeResponses(prompt)],
  ['Responses that are stored', 'openai-responses', (prompt) => encodeResponses(prompt, { store: true })],
  ['Chat', 'openai-chat', (prompt) => encodeChat(prompt)],
  ['Chat with all reasoning', 'openai-chat', (prompt) => encodeChat(prompt, { echoReasoning: 'always' })],
  ['Messages', 'anthropic-messages', (prompt) => encodeMessages(prompt)],
];

const MODELS: Readonly<Record<ProviderApi, string>> = {
  'openai-responses': 'gpt-5.5',
  'openai-chat': 'gemini-3-pro',
  'anthropic-messages': 'claude-opus-4-7',
};

/** The items of an answer of another service, each call with a result. */
async function answered({ api, body, name }: Recording): Promise<readonly OutputItem[]> {
  const envelopes = new EventEnvelopes({ runId: name, threadId: 'thr', turnId: 'turn' });
  const events = [];
  for await (const payloads of decodeAnswer(api, body, name, { model: 'recorded', service: 'recorded', stored: true }))
    for (const payload of payloads) events.push(envelopes.next(payload));
  const items = foldResponse(events).output_items.filter(({ cancelled }) => cancelled !== true);
  const results = items.flatMap((item) => (item.type === 'function_call' ? [output(item, 'x')] : []));
  return [user('Go'), ...items, ...results];
}

/** The texts of an item that only its own service reads. */
function secrets({ signature, encrypted_content: sealed, native }: OutputItem): string[] {
  const { encrypted_content: inner, data } = (native ?? {}) as Json;
  return [signature, sealed, inner, data].filter((text): text is string => typeof text === 'string' && text !== '');
}

const all = APIS.flatMap((api) => recordings(api, 'stream'));

describe.skipIf(!haveRecordings).each(WAYS)('%s', (_name, api, encode) => {
  test('every recorded answer, and every two of them, encode to a legal request of another model', async () => {
    const problems: string[] = [];
    const answers = await Promise.all(all.map(answered));
    for (const [index, items] of answers.entries()) {
      const other = answers[(index * 7 + 1) % answers.length]!;
      const conversation = [...items, ...other, user('Go on')];
      const prompt = await createPrompt(
        api,
        MODELS[api],
        { conversation, tools: [GET_WEATHER, RUN_SCRIPT] },
        { service: 'current' },
      );
      const body = JSON.parse(JSON.stringify(encode(prompt))) as Json;
      const text = JSON.stringify(body);
      const kept = [...items, ...other].flatMap(secrets).filter((secret) => text.includes(secret));
      const found = [...CHECKS[api](body), ...unpaired(body.input ?? body.messages), ...kept];
      problems.push(...found.map((problem) => `${all[index]!.api} ${all[index]!.name}: ${problem.slice(0, 300)}`));
    }
    expect(problems).toEqual([]);
  });
});
