import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#core/index.js';
import { APIS, essences, expectClean, normalForm, openScene, openWorld, play } from './running.js';
import type { Scenario } from '#core/providers/index.js';
import type { AgentInput } from '#core/agent/index.js';
import { PIXEL_BYTES } from './pixel.js';

const ADD = 'return (await tools.add({ a: 2, b: 3 })).sum;';
const say = (text: string, expected?: string[]): Scenario['turns'][number] => ({
  parts: [{ type: 'text', text }],
  ...(expected === undefined ? {} : { expect: expected }),
});

const CARRIERS: { name: string; agent: Partial<AgentInput> }[] = [
  { name: 'tool', agent: { carrier: 'tool', functions: 'all' } },
  { name: 'custom', agent: { carrier: 'custom', functions: 'all' } },
  { name: 'text, stop', agent: { carrier: 'text', functions: 'all' } },
  { name: 'text, continue', agent: { carrier: 'text', afterScript: 'continue', functions: 'all' } },
];

describe.each(APIS)('%s', (api) => {
  describe.each(CARRIERS)('carrier $name', ({ agent }) => {
    test('a script runs, and the next answer reads its result', async () => {
      const world = openWorld();
      const scene = await openScene(api, [
        {
          parts: [
            { type: 'text', text: 'I add.\n' },
            { type: 'script', code: ADD },
          ],
        },
        say('Five.', ['Script completed', 'Value: 5']),
      ]);
      const { response, history } = await play(world, scene, agent);
      expectClean(scene);
      expect(response.status).toBe('completed');
      expect(world.calls).toEqual(['add {"a":2,"b":3}']);
      const said = essences(history);
      expect(said[0]).toBe('user: Do it.');
      expect(said).toContain(`script completed: ${ADD}${agent.carrier === 'text' ? '\n' : ''}`);
      expect(said.at(-1)).toBe('assistant: Five.');
      expect(response.usage?.input_tokens).toBeGreaterThan(0);
    });

    test('a failed script is reported, and repaired in the next answer', async () => {
      const world = openWorld();
      const scene = await openScene(api, [
        { parts: [{ type: 'script', code: 'return await tools.fail({});' }] },
        { parts: [{ type: 'script', code: ADD }], expect: ['ToolExecutionError', 'it broke'] },
        say('Done.', ['Value: 5']),
      ]);
      const { response, history } = await play(world, scene, agent);
      expectClean(scene);
      expect(response.status).toBe('completed');
      expect(essences(history).filter((line) => line.startsWith('script '))).toHaveLength(2);
    });

    test('a second prompt extends the same conversation', async () => {
      const world = openWorld();
      const scene = await openScene(api, [
        {
          parts: [
            { type: 'text', text: 'Look: ' },
            { type: 'script', code: ADD },
          ],
        },
        say('Five.'),
        say('You are welcome.', ['Thank you']),
      ]);
      const first = await play(world, scene, agent, { threadId: 'thr_1' });
      const second = await play(world, scene, agent, { threadId: 'thr_1', history: first.history, input: 'Thank you' });
      expectClean(scene);
      expect(second.response.output_items).toHaveLength(1);
    });
  });

  test.each([
    { carrier: 'tool' as const, agent: { carrier: 'tool' as const, functions: 'all' as const } },
    {
      carrier: 'text' as const,
      agent: { carrier: 'text' as const, functions: 'all' as const, afterScript: 'continue' as const },
    },
  ])(
    '$carrier: calls and scripts of one answer run in order, and their results are sent together',
    async ({ agent }) => {
      const world = openWorld();
      const scene = await openScene(api, [
        {
          parts: [
            { type: 'text', text: 'Both ways.\n' },
            { type: 'script', code: "return await tools.note({ text: 'first' });" },
            { type: 'call', name: 'note', arguments: { text: 'second' } },
            { type: 'call', name: 'note', arguments: { text: 'third' } },
          ],
        },
        say('All three.', ['first', 'second', 'third']),
      ]);
      const { response } = await play(world, scene, agent);
      expectClean(scene);
      expect(response.status).toBe('completed');
      expect(world.calls).toEqual(['first', 'second', 'third'].map((text) => `note {"text":"${text}"}`));
    },
  );

  test('several scripts of one text run in order; the text after them is kept', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      {
        parts: [
          { type: 'script', code: "return await tools.note({ text: 'one' });" },
          { type: 'text', text: '\nand then\n' },
          { type: 'script', code: "return await tools.note({ text: 'two' });" },
          { type: 'text', text: '\nThat was it.' },
        ],
      },
      say('Fine.'),
    ]);
    const { history } = await play(world, scene, { carrier: 'text', afterScript: 'continue' });
    expectClean(scene);
    expect(world.calls).toHaveLength(2);
    expect(history.map(({ type }) => type)).toEqual([
      'message',
      'script_execution',
      'script_execution_output',
      'message',
      'script_execution',
      'script_execution_output',
      'message',
      'message',
    ]);
  });

  test('afterScript stop: the answer ends at its script', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      {
        parts: [
          { type: 'script', code: ADD },
          { type: 'wait', ms: 30_000 },
          { type: 'text', text: 'I believe that it is 6.' },
        ],
      },
      say('Five.'),
    ]);
    const { history } = await play(world, scene, { carrier: 'text' });
    expectClean(scene);
    expect(essences(history).join('\n')).not.toContain('I believe');
  });

  test('an image that a script found is shown to the model', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      { parts: [{ type: 'script', code: 'return await tools.shot({});' }] },
      { parts: [{ type: 'call', name: 'shot', arguments: {} }] },
      say('A pixel.'),
    ]);
    await play(world, scene, { functions: 'all' });
    expectClean(scene);
    const shown = JSON.stringify(scene.server.requests.at(-1)).split(PIXEL_BYTES.toString('base64')).length - 1;
    expect(shown).toBe(2);
  });

  test('disabled: a warning replaces a block in text, and structured calls work', async () => {
    const world = openWorld({ mode: 'disabled' });
    const scene = await openScene(api, [
      { parts: [{ type: 'call', name: 'add', arguments: { a: 1, b: 1 } }] },
      {
        parts: [
          { type: 'text', text: 'So: ' },
          { type: 'script', carrier: 'text', code: ADD },
        ],
        expect: ['2'],
      },
      say('I see.'),
    ]);
    const first = await play(world, scene, { carrier: 'text' });
    expect(first.response.status).toBe('completed');
    expect(essences(first.history).at(-1)).toBe(
      'assistant: [Scripts are disabled, so the script at this place did not run.]',
    );
    await play(world, scene, { carrier: 'text' }, { history: first.history, threadId: first.events[0]!.thread_id });
    expectClean(scene);
    expect(world.calls).toEqual(['add {"a":1,"b":1}']);
  });

  test('dry-run: nothing is called, and the model reads which calls would be made', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      {
        parts: [
          { type: 'script', code: ADD },
          { type: 'call', name: 'note', arguments: { text: 'x' } },
        ],
      },
      say('I see.', ['This is a dry run', 'It would call', 'the call was not made']),
    ]);
    await play(world, scene, { functions: 'all', mode: 'dry-run' });
    expectClean(scene);
    expect(world.calls).toEqual([]);
  });
});

test('a run has one plan, which its scripts change one after the other', async () => {
  const showPlan = defineTool({
    name: 'plan',
    description: 'Tells the plan',
    effect: 'read',
    approval: 'never',
    shows: 'plan',
    input: z.object({ step: z.string() }),
    execute: ({ step }: { step: string }) => ({ plan: [{ step, status: 'in_progress' }], explanation: '' }),
  } as never);
  const world = openWorld({ tools: [showPlan as never] });
  const plan = (step: string) => ({
    parts: [{ type: 'script' as const, code: `await tools.plan({ step: '${step}' });` }],
  });
  const scene = await openScene('openai-chat', [plan('one'), plan('two'), say('Planned.')]);
  const { history } = await play(world, scene, {});
  expectClean(scene);
  expect(history.filter(({ type }) => type === 'plan')).toMatchObject([{ steps: [{ step: 'two' }] }]);
});

test('the same scenario ends in the same history through each wire format', async () => {
  const forms: string[][] = [];
  for (const api of APIS) {
    const world = openWorld();
    const scene = await openScene(api, [
      {
        parts: [
          { type: 'text', text: 'Step one.' },
          { type: 'call', name: 'add', arguments: { a: 1, b: 2 } },
          { type: 'script', code: ADD },
          { type: 'call', name: 'fail', arguments: {} },
        ],
      },
      { parts: [{ type: 'script', code: 'return nonsense(' }] },
      { parts: [{ type: 'script', code: "return await tools.note({ text: 'done' });" }] },
      say('Finished.'),
    ]);
    const { history } = await play(world, scene, { functions: 'all' });
    expectClean(scene);
    forms.push(normalForm(history));
  }
  expect(forms[0]!.length).toBeGreaterThan(10);
  expect(forms[1]).toEqual(forms[0]);
  expect(forms[2]).toEqual(forms[0]);
});
