import { describe, expect, onTestFinished, test } from 'vitest';
import type { AgentInput } from '#core/agent/index.js';
import { createProvider, startScriptedServer, type ProviderApi, type Scenario } from '#core/providers/index.js';
import { agentFor, MODELS } from '../tunnel/families.js';
import { openWorld, play } from './running.js';

/* An agent talks to every known model through servers that refuse what the service of this model refuses. */

async function openModel(api: ProviderApi, model: string, turns: Scenario['turns']) {
  const server = await startScriptedServer({ turns });
  onTestFinished(() => server.close());
  const { baseUrl } = server;
  // As createProvider sets it for the service itself.
  const chat = { maxTokensName: 'max_completion_tokens', toolsWithReasoning: false } as const;
  const provider = createProvider(api, { model, baseUrl, chat, retries: { maxRetries: 0 }, environment: {} });
  return { server, provider };
}

const SETTINGS: readonly Partial<AgentInput>[] = [
  {},
  { reasoningEffort: 'none', temperature: 0.5 },
  { reasoningEffort: 'minimal', maxOutputTokens: 200_000 },
  { reasoningEffort: 'max', temperature: 0.5 },
];

describe('a conversation of an agent', () => {
  test.each(MODELS)('is not refused by $model ($api)', async (family) => {
    const { model, api } = family;
    for (const settings of SETTINGS) {
      const script = { type: 'script' as const, code: 'return await tools.add({ a: 1, b: 2 });' };
      const scene = await openModel(api, model, [
        { parts: [{ type: 'reasoning', text: 'A sum.' }, script] },
        { parts: [{ type: 'text', text: '3.' }] },
        { parts: [{ type: 'reasoning', text: '' }, script] },
        { parts: [{ type: 'text', text: '3 again.' }] },
      ]);
      const agent = agentFor(family, settings);
      const world = openWorld();
      const { history } = await play(world, scene, agent);
      const { response } = await play(world, scene, agent, { history, input: 'Again.' });
      expect({ settings, violations: scene.server.violations }).toEqual({ settings, violations: [] });
      expect(response.status).toBe('completed');
      expect(scene.server.turnsLeft).toBe(0);
    }
  });
});

describe('a request of the wrong shape is refused', () => {
  const messages = [{ role: 'user', content: 'Go' }];
  const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] }];
  const claude = { max_tokens: 1000, messages, stream: true };
  const responses = { input, store: false, stream: true };
  const chat = { messages, stream: true, stream_options: { include_usage: true } };
  const chatTool = { type: 'function', function: { name: 'f', description: 'F', parameters: { type: 'object' } } };
  const claudeTool = { name: 'f', description: 'F', input_schema: { type: 'object' } };
  const PATHS = { m: '/v1/messages', r: '/v1/responses', c: '/v1/chat/completions' };

  test.each<[string, keyof typeof PATHS, string, object, RegExp]>([
    ['thinking that cannot be disabled', 'm', 'claude-opus-5-5', { thinking: { type: 'disabled' } }, /thinking\.type/u],
    [
      'a budget for thinking',
      'm',
      'claude-sonnet-5-5',
      { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
      /thinking\.type\.enabled/u,
    ],
    ['adaptive thinking', 'm', 'claude-haiku-4-5', { thinking: { type: 'adaptive' } }, /thinking\.type\.adaptive/u],
    [
      'a forced call',
      'm',
      'us.anthropic.claude-opus-5-5-v1:0',
      { tools: [claudeTool], tool_choice: { type: 'any' } },
      /tool_choice/u,
    ],
    ['a temperature', 'm', 'claude-haiku-5-5', { temperature: 0.5 }, /temperature/u],
    ['too long an answer', 'm', 'claude-haiku-4-5', { max_tokens: 64_001 }, /max_tokens: 64001 > 64000/u],
    ['an effort', 'm', 'claude-opus-4-6', { output_config: { effort: 'xhigh' } }, /'xhigh' is not supported/u],
    ['no effort', 'r', 'gpt-6.2-sol', { reasoning: { effort: 'none' } }, /'none' is not supported/u],
    ['a temperature', 'r', 'gpt-6.2-sol', { temperature: 0 }, /temperature/u],
    ['sealed reasoning', 'r', 'gpt-4.1', { include: ['reasoning.encrypted_content'] }, /Encrypted content/u],
    ['tools with reasoning', 'c', 'gpt-5.6-sol', { tools: [chatTool], reasoning_effort: 'low' }, /Function tools/u],
    ['tools', 'c', 'gpt-6.1-sol', { tools: [chatTool] }, /Function tools/u],
    ['an effort', 'c', 'gpt-6.2-sol', { reasoning_effort: 'max' }, /'max' is not supported/u],
  ])('%s (%s, %s)', async (_what, way, model, members, message) => {
    const server = await startScriptedServer({ turns: [{ parts: [{ type: 'text', text: 'Hi.' }] }] });
    onTestFinished(() => server.close());
    const body = { ...{ m: claude, r: responses, c: chat }[way], model, ...members };
    const url = new URL(PATHS[way], server.baseUrl);
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(message);
    const unknown = await fetch(url, { method: 'POST', body: JSON.stringify({ ...body, model: 'another-model' }) });
    expect(unknown.status).toBe(200);
  });
});
