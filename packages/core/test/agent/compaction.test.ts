import { describe, expect, it } from 'vitest';
import type { AgentInput } from '#core/agent/index.js';
import type { OutputItem } from '#core/protocol/index.js';
import type { Scenario } from '#core/providers/index.js';
import { APIS, essences, openScene, openWorld, play } from './running.js';

type Part = Extract<Scenario['turns'][number], { parts: unknown[] }>['parts'][number];

const usage = (tokens: number) => ({ input_tokens: tokens, output_tokens: 10 });
const script = (code: string): Part => ({ type: 'script', code });

const agent: Partial<AgentInput> = { contextWindow: 2_000 };

describe.each(APIS)('a conversation that nears the model’s context window (%s)', (api) => {
  it('is summarised by the model, and continues after the summary, without the earlier messages', async () => {
    const scene = await openScene(api, [
      { parts: [script('return await tools.note({ text: "first" })')], usage: usage(1_900) },
      { parts: [{ type: 'text', text: 'Noted first; second is left.' }], expect: ['has grown too long'] },
      {
        begins_anew: true,
        expect: ['Noted first; second is left.', 'Note twice.'],
        parts: [script('return await tools.note({ text: "second" })')],
        usage: usage(100),
      },
      { parts: [{ type: 'text', text: 'Both are noted.' }], usage: usage(200) },
    ]);
    const world = openWorld();
    const { history, response } = await play(world, scene, agent, { input: 'Note twice.' });
    expect(scene.server.violations).toEqual([]);
    expect(scene.server.turnsLeft).toBe(0);
    expect(response.status).toBe('completed');
    expect(world.calls).toEqual(['note {"text":"first"}', 'note {"text":"second"}']);
    expect(history.filter(({ type }) => type === 'compaction')).toMatchObject([
      { summary: 'Noted first; second is left.', last_message: 'Note twice.' },
    ]);
    expect(JSON.stringify(scene.server.requests.at(-1))).not.toContain('"first\\"');
  });

  it('counts the output of a script that the provider has not counted yet', async () => {
    const scene = await openScene(api, [
      { parts: [script('return "x".repeat(8_000)')], usage: usage(100) },
      { parts: [{ type: 'text', text: 'A long text.' }], expect: ['has grown too long'] },
      { begins_anew: true, parts: [{ type: 'text', text: 'Done.' }], usage: usage(100) },
    ]);
    const { response } = await play(openWorld(), scene, agent);
    expect(scene.server.violations).toEqual([]);
    expect(scene.server.turnsLeft).toBe(0);
    expect(response.status).toBe('completed');
  });

  it('keeps the announcements of changes that still apply', async () => {
    const scene = await openScene(api, [
      { parts: [script('return 1')], usage: usage(1_900) },
      { parts: [{ type: 'text', text: 'All of it.' }] },
      { begins_anew: true, expect: ['All of it.'], parts: [{ type: 'text', text: 'Done.' }], usage: usage(100) },
    ]);
    const announcement = (content: string, announces: 'all' | 'changes'): OutputItem =>
      ({ type: 'message', id: content, role: 'system', content, announces }) as const;
    const history = [
      announcement('Replaced.', 'changes'),
      announcement('Whole.', 'all'),
      announcement('New.', 'changes'),
    ];
    await play(openWorld(), scene, agent, { history });
    expect(scene.server.violations).toEqual([]);
    const last = JSON.stringify(scene.server.requests.at(-1));
    expect(last).not.toContain('Replaced.');
    expect(last).toMatch(/Whole\..*New\..*All of it\./u);
  });

  it('keeps its summary for the next prompt, whose requests grow from there', async () => {
    const scene = await openScene(api, [
      { parts: [script('return 1')], usage: usage(1_900) },
      { parts: [{ type: 'text', text: 'All of it.' }] },
      { begins_anew: true, parts: [{ type: 'text', text: 'Done.' }], usage: usage(100) },
      { parts: [{ type: 'text', text: 'Yes.' }], expect: ['And now?'] },
    ]);
    const world = openWorld();
    const first = await play(world, scene, agent);
    const second = await play(world, scene, agent, { history: first.history, input: 'And now?' });
    expect(scene.server.violations).toEqual([]);
    expect(scene.server.turnsLeft).toBe(0);
    expect(essences(second.history).slice(-2)).toEqual(['user: And now?', 'assistant: Yes.']);
  });

  it('is not summarised twice for one answer, and never without a known window', async () => {
    const scene = await openScene(api, [
      { parts: [script('return 1')], usage: usage(1_900) },
      { parts: [{ type: 'text', text: 'x'.repeat(9_000) }] },
      { begins_anew: true, parts: [{ type: 'text', text: 'Done.' }], usage: usage(1_900) },
    ]);
    const { response } = await play(openWorld(), scene, agent);
    expect(response.status).toBe('completed');
    const other = await openScene(api, [
      { parts: [script('return 1')], usage: usage(1_000_000) },
      { parts: [{ type: 'text', text: 'Done.' }] },
    ]);
    expect((await play(openWorld(), other, {})).response.status).toBe('completed');
    expect(other.server.violations).toEqual([]);
  });

  it('includes the tokens with which every request begins until an answer reports them', async () => {
    const text = 'x'.repeat(2_000);
    const scene = await openScene(api, [
      { parts: [{ type: 'text', text: 'Summed up.' }], expect: ['has grown too long'] },
      { begins_anew: true, parts: [{ type: 'text', text: 'Done.' }], usage: usage(10) },
    ]);
    const { response } = await play(openWorld(), scene, { contextWindow: 1_000 }, { input: text });
    expect(scene.server.violations).toEqual([]);
    expect(response.status).toBe('completed');
  });

  it('ends the run and keeps its items if the model returns no summary', async () => {
    const scene = await openScene(api, [
      { parts: [script('return 1')], usage: usage(1_900) },
      { type: 'failure', status: 400, message: 'no' },
    ]);
    const { response, history } = await play(openWorld(), scene, agent);
    expect(response.status).toBe('failed');
    expect(history.some(({ type }: OutputItem) => type === 'script_execution_output')).toBe(true);
  });
});

describe('a cost budget', () => {
  const prices = { input: 1, output: 10, cacheRead: 0.1 };
  it('ends the run before the next answer, when the answers so far have cost as much', async () => {
    const turns: Scenario['turns'] = [
      { parts: [script('return 1')], usage: { input_tokens: 1_000_000, output_tokens: 100_000 } },
      { parts: [{ type: 'text', text: 'Done.' }] },
    ];
    const scene = await openScene('openai-chat', turns);
    const { events } = await play(openWorld(), scene, { prices, costBudget: 2 });
    expect(events.at(-1)!.payload).toMatchObject({ status: 'incomplete', incomplete_reason: 'cost_budget' });
    expect(scene.server.turnsLeft).toBe(1);
    const other = await openScene('openai-chat', turns);
    const { response } = await play(openWorld(), other, { prices, costBudget: 2.5 });
    expect(response.status).toBe('completed');
  });
});
