import { describe, expect, test } from 'vitest';
import { createProvider, scriptedModel, startScriptedServer, type Scenario } from '#core/providers/index.js';
import type { ModelProvider, ModelRequest, OutputItem } from '#core/protocol/index.js';
import { APIS, ask, callsOf, GET_WEATHER, output, RUN_SCRIPT, user } from './asking.js';

/* Newer models of Anthropic bind their thinking to what precedes it, and refuse it after a change. */

const round = (number: number, more: object = {}): Scenario['turns'][number] => ({
  parts: [
    { type: 'reasoning', text: `Hm ${number}.` },
    { type: 'call', name: 'getWeather', arguments: { city: 'Oslo' } },
  ],
  ...more,
});

interface Thread {
  readonly conversation: OutputItem[];
  readonly request: Omit<ModelRequest, 'conversation'>;
}

async function playRounds(provider: ModelProvider, rounds: number, change: (thread: Thread, round: number) => Thread) {
  let thread: Thread = { conversation: [user('Go')], request: { system: 'Be brief.', tools: [GET_WEATHER] } };
  for (let number = 0; number < rounds; number += 1) {
    thread = change(thread, number);
    const { conversation, request } = thread;
    const response = await ask(provider, { ...request, conversation });
    expect(response.error).toBeUndefined();
    const results = callsOf(response).map((call) => output(call, `${number} degrees`));
    thread = { request, conversation: [...conversation, ...response.output_items, ...results] };
  }
  return thread;
}

const CHANGES: Readonly<Record<string, (thread: Thread) => Thread>> = {
  'the system text': (thread) => ({ ...thread, request: { ...thread.request, system: 'Be long.' } }),
  'the tools': (thread) => ({ ...thread, request: { ...thread.request, tools: [GET_WEATHER, RUN_SCRIPT] } }),
  'the first message': ({ conversation: [, ...rest], request }) => ({ request, conversation: [user('Come'), ...rest] }),
  'the thinking of an earlier answer': ({ conversation, request }) => ({
    request,
    conversation: conversation.filter((item) => item !== conversation.find(({ type }) => type === 'reasoning')),
  }),
  'the end of a long conversation': ({ conversation, request }) => ({
    request,
    conversation: [user('Summary'), ...conversation.slice(-3)],
  }),
};

describe('thinking that is bound to its prefix', () => {
  test.each(Object.entries(CHANGES))(
    'is left out after a change of %s, and no request is refused',
    async (_, change) => {
      const turns = [0, 1, 2, 3, 4, 5].map((number) => round(number, { changes_prefix: number === 3 }));
      const server = await startScriptedServer({ turns });
      const provider = createProvider('anthropic-messages', { model: 'claude-sonnet-5-5', baseUrl: server.baseUrl });
      try {
        await playRounds(provider, 6, (thread, number) => (number === 3 ? change(thread) : thread));
        expect(server.violations).toEqual([]);
        const last = JSON.stringify(server.requests.at(-1));
        // The thinking after the change stays, and so does what the model did before it.
        expect(last).toContain('"Hm 3."');
        expect(last).toContain('"Hm 4."');
        expect(last).not.toContain('"Hm 2."');
      } finally {
        await server.close();
      }
    },
  );

  test('goes back in its place over 50 turns if nothing changes', async () => {
    const model = scriptedModel(
      { turns: Array.from({ length: 50 }, (_, at) => round(at)) },
      { api: 'anthropic-messages' },
    );
    const { conversation } = await playRounds(model, 50, (thread) => thread);
    expect(conversation.filter(({ type }) => type === 'reasoning')).toHaveLength(50);
  });
});

describe('reasoning of another model', () => {
  const reasoning = (api: string, model: string): OutputItem => ({
    type: 'reasoning',
    id: 'r',
    content: 'Hm.',
    api,
    model,
    answer_id: 'ans',
    signature: 'sealed',
    encrypted_content: 'sealed',
    reasoning_details: [{ type: 'reasoning.encrypted', data: 'sealed' }],
  });
  const said: OutputItem = { type: 'message', id: 'm', role: 'assistant', content: 'Yes.', answer_id: 'ans' };

  async function sentBy(api: (typeof APIS)[number], model: string, author: string): Promise<string> {
    const { violations, requests, ...provider } = scriptedModel({ turns: [round(0)] }, { api, model });
    await ask(provider, { conversation: [user('Go'), reasoning(api, author), { ...said, api }, user('On')] });
    expect(violations).toEqual([]);
    return JSON.stringify(requests);
  }

  test.each(APIS)('is left out, and goes back to its own model: %s', async (api) => {
    expect(await sentBy(api, 'model-2', 'model-1')).not.toContain('sealed');
    expect(await sentBy(api, 'model-1', 'model-1')).toContain('sealed');
  });

  test('goes back to the models that read it or drop it silently', async () => {
    expect(await sentBy('anthropic-messages', 'claude-opus-5-5', 'claude-sonnet-5-5')).toContain('sealed');
    expect(await sentBy('anthropic-messages', 'claude-opus-5-5', 'kimi-k2')).not.toContain('sealed');
  });
});
