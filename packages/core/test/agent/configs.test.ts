import { expect, test } from 'vitest';
import { createAgentRegistry, defaultAgents, defineAgent, runAgent } from '#core/agent/index.js';
import { scriptedModel } from '#core/providers/index.js';
import { openWorld } from './running.js';

test('an agent is data: defaults are filled in, and it survives JSON', () => {
  const agent = defineAgent({ slug: 'mine' });
  expect(agent).toMatchObject({ carrier: 'tool', afterScript: 'stop', functions: 'none', maxTurns: 20 });
  expect(defineAgent(JSON.parse(JSON.stringify(agent)))).toEqual(agent);
  expect(Object.isFrozen(agent)).toBe(true);
});

test('an agent overrides only the limits that it names', () => {
  expect(defineAgent({ slug: 'mine', limits: { timeoutMs: 5 } }).limits).toEqual({ timeoutMs: 5 });
});

test.each([
  [{ slug: 'No Good' }, 'slug'],
  [{ slug: 'a', carrier: 'pigeon' }, 'carrier'],
  [{ slug: 'a', maxTurns: 0 }, 'maxTurns'],
  [{ slug: 'a', limits: { timeoutMs: 'soon' } }, 'limits.timeoutMs'],
  [{ slug: 'a', colour: 'red' }, 'colour'],
])('%j is refused, naming %s', (agent, named) => {
  expect(() => defineAgent(agent as never)).toThrow(named);
});

test('the built-in agents are found by slug, and the host chooses their models', () => {
  expect(
    createAgentRegistry()
      .list()
      .map(({ slug }) => slug),
  ).toEqual(['gpt', 'claude-sonnet', 'claude-haiku', 'ollama']);
  const registry = createAgentRegistry([
    ...defaultAgents({ ollama: 'llama3.3' }),
    { slug: 'claude-haiku', carrier: 'text' },
  ]);
  expect(registry.get('ollama').provider?.model).toBe('llama3.3');
  expect(registry.get('claude-haiku').carrier).toBe('text');
  expect(() => registry.get('claude-sonet')).toThrow('Did you mean claude-sonnet');
});

test('the host’s mistakes are thrown', () => {
  const { harness } = openWorld();
  const provider = scriptedModel({ turns: [] });
  expect(() => runAgent({ provider, harness, agent: { slug: 'A' }, input: 'x' })).toThrow('slug');
  expect(() => runAgent({ provider, harness, agent: { slug: 'a' }, input: 5 as never })).toThrow('input');
});
