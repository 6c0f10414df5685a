import { describe, expect, test } from 'vitest';
import { createProvider, type ProviderApi } from '#core/providers/index.js';
import type { ModelRequest } from '#core/protocol/index.js';
import { GET_WEATHER, payloadsOf, user } from './asking.js';

/* A request is sent once more without the member that the service names in its refusal. */

const conversation = [user('Go')];

/** A service that refuses every request with `isRefused`. */
function asking(api: ProviderApi, error: object, isRefused: (body: Record<string, unknown>) => boolean) {
  const bodies: Record<string, unknown>[] = [];
  const provider = createProvider(api, {
    model: 'another-model',
    environment: {},
    retries: { maxRetries: 0 },
    fetch: async (_url, init) => {
      const body = JSON.parse(init.body as string) as Record<string, unknown>;
      bodies.push(body);
      if (isRefused(body)) return Response.json({ error }, { status: 400 });
      return Response.json({ error: { message: 'Accepted.' } }, { status: 418 });
    },
  });
  const ask = (request: Partial<ModelRequest>) => payloadsOf(provider, { conversation, ...request });
  return { ask, bodies };
}

describe('the member that a refusal names', () => {
  test.each<[ProviderApi, string, object, Partial<ModelRequest>]>([
    [
      'openai-responses',
      'temperature',
      {
        message: "Unsupported parameter: 'temperature' is not supported with this model.",
        param: 'temperature',
        code: 'unsupported_parameter',
      },
      { temperature: 0 },
    ],
    [
      'openai-responses',
      'reasoning',
      { message: "Unsupported value: 'none' is not supported with this model.", param: 'reasoning.effort' },
      { reasoningEffort: 'none' },
    ],
    [
      'openai-chat',
      'reasoning_effort',
      {
        message:
          "Function tools with reasoning_effort are not supported for gpt-x in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
        param: 'reasoning_effort',
      },
      { reasoningEffort: 'low', tools: [GET_WEATHER] },
    ],
    [
      'anthropic-messages',
      'thinking',
      {
        type: 'invalid_request_error',
        message: '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive".',
      },
      { reasoningEffort: 'none' },
    ],
    [
      'anthropic-messages',
      'temperature',
      { type: 'invalid_request_error', message: '`temperature` is deprecated for this model.' },
      { temperature: 0.5 },
    ],
    [
      'anthropic-messages',
      'tool_choice',
      { type: 'invalid_request_error', message: 'tool_choice: type "any" is not supported for this model.' },
      { tools: [GET_WEATHER], toolChoice: 'required' },
    ],
  ])('%s: %s is left out in one further request, and in later ones', async (api, member, error, request) => {
    const { ask, bodies } = asking(api, error, (body) => member in body);
    const payloads = await ask(request);
    await ask(request);
    expect(bodies.map((body) => member in body)).toEqual([true, false, false]);
    const { [member]: _refused, ...rest } = bodies[0]!;
    expect(bodies[1]).toEqual(rest);
    expect(payloads.filter(({ type }) => type === 'request_retry')).toMatchObject([{ delay_ms: 0, status: 400 }]);
  });

  test.each([
    ['is needed', { message: "Invalid value: 'model'.", param: 'model' }],
    ['is not in the request', { message: "'top_p' is not supported.", param: 'top_p' }],
    ['is only a word of the sentence', { message: 'messages.1.content.0: thinking blocks cannot be modified.' }],
    ['does not exist', { message: 'The request is wrong.' }],
  ])('that %s is no reason to ask again', async (_why, error) => {
    const { ask, bodies } = asking('anthropic-messages', error, () => true);
    const payloads = await ask({ temperature: 0.5, reasoningEffort: 'low' });
    expect(bodies).toHaveLength(1);
    expect(payloads.find(({ type }) => type === 'response_error')).toMatchObject({ status: 400, attempts: 1 });
  });

  test('is left out once: a second refusal ends the request', async () => {
    const { ask, bodies } = asking('openai-chat', { message: 'No.', param: 'temperature' }, () => true);
    await ask({ temperature: 0 });
    expect(bodies.map((body) => 'temperature' in body)).toEqual([true, false]);
  });
});
