import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tries } from '@toolscript/testkit/some-cases';
import { openWorld } from '../agent/running.js';
import { OWN_STREAMS } from '../providers/own-streams.js';
import { APIS } from '../providers/asking.js';
import { conversation, travel } from './conversations.js';
import { FAMILIES } from './families.js';
import { OPTIONS, requestsWith } from './options.js';
import { replay } from './streams.js';
import { TunnelService } from './tunnel-service.js';

/*
 * The wind tunnel in its short form: services of every family of models that refuse what the real ones are documented
 * to refuse. `npm run providers` and tunnel.slow.test.ts have the long form.
 */

describe.each(APIS)('streams of the repository (%s)', (api) => {
  test.each(Object.entries(OWN_STREAMS[api]))('%s: no family refuses the next request', async (_name, stream) => {
    const world = openWorld();
    const [family] = FAMILIES.filter((one) => one.api === api);
    const { refusals, requests } = await replay(family!, stream, { world });
    expect(refusals).toEqual([]);
    expect(requests).toBeGreaterThan(FAMILIES.length);
  });
});

describe.each(FAMILIES)('$model ($api) refuses no request with', (family) => {
  test.each(Object.entries(OPTIONS))('%s', async (_name, option) => {
    const { refusals, requests } = await requestsWith(family, option);
    expect(refusals).toEqual([]);
    expect(requests).toBeGreaterThanOrEqual(3);
  });
});

test('no request of a random conversation is refused', async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async (drawn) => {
      expect((await travel(drawn)).refusals).toEqual([]);
    }),
    { numRuns: tries(40, 12) },
  );
});

type Json = Readonly<Record<string, unknown>>;

describe('the wrong requests of before are refused', () => {
  const user = { role: 'user', content: [{ type: 'text', text: 'Go' }] };
  const tools = [{ name: 'add', description: 'Adds', input_schema: { type: 'object' } }];
  const use = (name: string) => ({ type: 'tool_use', id: 'toolu_1', name, input: {} });
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '5' }] };
  const messages = (list: readonly object[], more: Json = { tools }): Json => ({
    model: 'claude-opus-5-5',
    max_tokens: 1000,
    messages: list,
    stream: true,
    ...more,
  });
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2VhbGVk' };
  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
  const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] }];
  const foreign = {
    type: 'shell_call',
    id: 'sh_1',
    call_id: 'call_1',
    action: { commands: ['ls'] },
    status: 'completed',
  };
  const named = { type: 'function_call', call_id: 'call_1', name: 'tools.add', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'call_1', output: '5' };
  const responses = (...items: readonly object[]): Json => ({
    model: 'gpt-6.2-sol',
    input: [...input, ...items],
    store: false,
    stream: true,
  });
  const chatCall = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{}' } };

  test.each<[string, 'anthropic-messages' | 'openai-responses' | 'openai-chat', Json, RegExp]>([
    [
      'disabled thinking',
      'anthropic-messages',
      messages([user], { thinking: { type: 'disabled' } }),
      /thinking\.type/u,
    ],
    ['a forced call', 'anthropic-messages', messages([user], { tools, tool_choice: { type: 'any' } }), /tool_choice/u],
    [
      'an illegal name',
      'anthropic-messages',
      messages([user, { role: 'assistant', content: [use('tools.add')] }, result]),
      /"tools\.add"/u,
    ],
    [
      'a call without a result',
      'anthropic-messages',
      messages([user, { role: 'assistant', content: [use('add')] }, user]),
      /no result right after/u,
    ],
    [
      'half a pair of a hosted call',
      'anthropic-messages',
      messages([user, { role: 'assistant', content: [search] }, user]),
      /srvtoolu_1/u,
    ],
    [
      'thinking of nobody',
      'anthropic-messages',
      messages([user, { role: 'assistant', content: [thinking, { type: 'text', text: 'Hi' }] }, user]),
      /sealed reasoning/u,
    ],
    [
      'calls without tools',
      'anthropic-messages',
      messages([user, { role: 'assistant', content: [use('add')] }, result], {}),
      /defines no tools/u,
    ],
    [
      'an empty text',
      'anthropic-messages',
      messages([{ role: 'user', content: [{ type: 'text', text: ' ' }] }]),
      /non-whitespace/u,
    ],
    [
      'too much',
      'anthropic-messages',
      messages([{ role: 'user', content: [{ type: 'text', text: 'x'.repeat(33_600_000) }] }]),
      /bytes/u,
    ],
    ['a call of the client without its output', 'openai-responses', responses(foreign), /call_1/u],
    ['an illegal name', 'openai-responses', responses(named, output), /"tools\.add"/u],
    [
      'two outputs',
      'openai-responses',
      responses({ ...named, name: 'add' }, output, output),
      /results \["call_1","call_1"\]/u,
    ],
    [
      'sealed reasoning of another model',
      'openai-responses',
      responses({ type: 'reasoning', summary: [], encrypted_content: 'x' }),
      /sealed reasoning/u,
    ],
    [
      'marks of a cached prefix before GPT-5.6',
      'openai-responses',
      {
        ...responses(),
        model: 'gpt-5.5',
        input: [
          {
            type: 'message',
            role: 'developer',
            content: [{ type: 'input_text', text: 'Go', prompt_cache_breakpoint: { mode: 'explicit' } }],
          },
        ],
      },
      /prompt_cache_breakpoint/u,
    ],
    ['a background answer that is not stored', 'openai-responses', { ...responses(), background: true }, /store=true/u],
    [
      'a schema with an optional member',
      'openai-responses',
      {
        ...responses(),
        text: {
          format: {
            type: 'json_schema',
            name: 'answer',
            strict: true,
            schema: { type: 'object', properties: { n: {} }, additionalProperties: false },
          },
        },
      },
      /Missing 'n'/u,
    ],
    [
      'a schema of an open object',
      'anthropic-messages',
      messages([user], { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }),
      /additionalProperties/u,
    ],
    [
      'a schema for a model that enforces none',
      'openai-chat',
      {
        model: 'gpt-3.5-turbo',
        messages: [{ role: 'user', content: 'Go' }],
        response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
      },
      /not supported with the model 'gpt-3.5-turbo'/u,
    ],
    ['an effort', 'openai-responses', { ...responses(), reasoning: { effort: 'none' } }, /'none' is not supported/u],
    [
      'a result in the wrong place',
      'openai-chat',
      {
        model: 'gpt-5.5',
        messages: [
          { role: 'assistant', tool_calls: [chatCall] },
          { role: 'user', content: 'Go' },
          { role: 'tool', tool_call_id: 'call_1', content: '5' },
        ],
      },
      /no result right after/u,
    ],
    [
      'a temperature',
      'openai-chat',
      { model: 'gpt-6.2-sol', messages: [{ role: 'user', content: 'Go' }], temperature: 0 },
      /temperature/u,
    ],
  ])('%s (%s)', (_what, api, body, sentence) => {
    const service = new TunnelService(api, String(body.model), () => ({ body: '' }));
    expect(service.problemsOf(body).join('\n')).toMatch(sentence);
  });

  test('thinking after a change of what preceded it', async () => {
    const block = { type: 'content_block_start', index: 0, content_block: thinking };
    const service = new TunnelService('anthropic-messages', 'claude-opus-5-5', () => ({
      body: `data: ${JSON.stringify(block)}\n\n`,
    }));
    await service.fetch('http://127.0.0.1', { method: 'POST', body: JSON.stringify(messages([user])) });
    const answer = { role: 'assistant', content: [thinking, { type: 'text', text: 'Hi' }] };
    expect(service.problemsOf(messages([user, answer, user]))).toEqual([]);
    const changed = messages([user, answer, user], { tools, system: [{ type: 'text', text: 'Be brief.' }] });
    expect(service.problemsOf(changed).join()).toMatch(/different conversation/u);
  });
});
