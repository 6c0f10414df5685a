import { describe, expect, test } from 'vitest';
import { createProvider, type ProviderApi } from '#core/providers/index.js';
import { Talk, user } from './asking.js';
import { streamOf } from './wire-text.js';

/* Services cannot verify reasoning that was sealed for another account, or that a gateway changed. */

const EVENT_STREAM = { headers: { 'content-type': 'text/event-stream' } };

const messages = (...blocks: object[]) =>
  streamOf(
    { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', content: [] } },
    ...blocks.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  );
const responses = (...output: object[]) =>
  streamOf(
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
    ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } },
  );
const said = (text: string) => ({ type: 'message', id: 'msg_1', content: [{ type: 'output_text', text }] });

const refusal = (error: object) => () => Response.json({ error }, { status: 400 });
const ENCRYPTED = {
  message: 'The encrypted content SEALED could not be verified.',
  type: 'invalid_request_error',
  param: null,
  code: 'invalid_encrypted_content',
};
const SIGNATURE = {
  type: 'invalid_request_error',
  message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
};

const SEALED_RESPONSE = responses(
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'SEALED' },
  said('One.'),
);
const SEALED_MESSAGE = messages(
  { type: 'thinking', thinking: 'Hm.', signature: 'SEALED' },
  { type: 'redacted_thinking', data: 'SEALED' },
  { type: 'text', text: 'One.' },
);

interface Case {
  readonly api: ProviderApi;
  readonly first: string;
  readonly refuse: () => Response;
  readonly then: string;
}

const CASES: Readonly<Record<string, Case>> = {
  'Responses, with a status': {
    api: 'openai-responses',
    first: SEALED_RESPONSE,
    refuse: refusal(ENCRYPTED),
    then: responses(said('Two.')),
  },
  'Responses, in the stream': {
    api: 'openai-responses',
    first: SEALED_RESPONSE,
    refuse: () =>
      new Response(
        streamOf(
          { type: 'response.created', response: { id: 'resp_2', status: 'in_progress', output: [] } },
          { ...ENCRYPTED, type: 'error' },
        ),
        EVENT_STREAM,
      ),
    then: responses(said('Two.')),
  },
  Messages: {
    api: 'anthropic-messages',
    first: SEALED_MESSAGE,
    refuse: refusal(SIGNATURE),
    then: messages({ type: 'text', text: 'Two.' }),
  },
};

function open({ api, first, refuse, then }: Case, isRefused = (body: string) => body.includes('SEALED')) {
  const requests: string[] = [];
  const provider = createProvider(api, {
    model: 'model-1',
    environment: {},
    retries: { maxRetries: 0 },
    fetch: async (_url, init) => {
      requests.push(init.body as string);
      if (requests.length === 1) return new Response(first, EVENT_STREAM);
      return isRefused(init.body as string) ? refuse() : new Response(then, EVENT_STREAM);
    },
  });
  return { talk: new Talk(provider), requests };
}

describe.each(Object.entries(CASES))('%s: reasoning that the service cannot verify', (_, how) => {
  test('is left out at once and from then on, and the thread goes on', async () => {
    const { talk, requests } = open(how);
    await talk.say(user('Go'));
    expect((await talk.say(user('And?'))).status).toBe('completed');
    expect((await talk.say(user('And then?'))).status).toBe('completed');
    expect(requests.map((body) => body.includes('SEALED'))).toEqual([false, true, false, false]);
    expect(requests.at(-1)).toContain('One.');
  });

  test('is left out once: a service that refuses the rest too is not asked again', async () => {
    const { talk, requests } = open(how, () => true);
    await talk.say(user('Go'));
    expect((await talk.say(user('And?'))).status).toBe('failed');
    expect(requests).toHaveLength(3);
  });
});
