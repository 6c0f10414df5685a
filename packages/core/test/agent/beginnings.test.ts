import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentInput } from '#core/agent/index.js';
import { defineTool } from '#core/index.js';
import type { Scenario } from '#core/providers/index.js';
import type { OutputItem } from '#core/protocol/index.js';
import { APIS, expectClean, openScene, openWorld, play, type World } from './running.js';

/* What a request begins with: the system text, the tools and the earlier messages. */

type Turn = Extract<Scenario['turns'][number], { parts: unknown }>;

const thinkAndCall: Turn = {
  parts: [
    { type: 'reasoning', text: 'Hm.' },
    { type: 'call', name: 'add', arguments: { a: 2, b: 3 } },
  ],
};

const WAYS: readonly Turn['parts'][] = [
  [{ type: 'script', code: 'return (await tools.add({ a: 2, b: 3 })).sum;' }],
  [{ type: 'script', code: 'return await tools.fail({});' }],
  [{ type: 'call', name: 'shot', arguments: {} }],
  [
    { type: 'text', text: 'Both.' },
    { type: 'call', name: 'add', arguments: '{"a":2' },
    { type: 'call', name: 'tools.add', arguments: { a: 2, b: 3 } },
  ],
  [{ type: 'call', name: 'add', arguments: { a: 2, b: 3 }, call_id: 'functions.add:0' }],
];

describe.each(APIS)('%s', (api) => {
  test('a request begins with the one before it, byte for byte, over 50 prompts', async () => {
    const world = openWorld();
    const turns = Array.from({ length: 50 }, (_, at): Turn[] => [
      { parts: [{ type: 'reasoning', text: `Hm ${at}.` }, ...WAYS[at % WAYS.length]!] },
      {
        parts: [
          { type: 'reasoning', text: '' },
          { type: 'text', text: `Answer ${at}.` },
        ],
      },
    ]);
    const scene = await openScene(api, turns.flat());
    let history: readonly OutputItem[] = [];
    for (let at = 0; at < turns.length; at += 1)
      ({ history } = await play(world, scene, AGENT, { threadId: 'thr_1', history, input: `Prompt ${at}` }));
    expectClean(scene);
  });

  test.each(Object.keys(CHANGES))('after a change of %s, the thread goes on', async (what) => {
    const world = openWorld();
    const scene = await openScene(api, [
      thinkAndCall,
      { parts: [{ type: 'text', text: 'Five.' }] },
      { ...thinkAndCall, changes_prefix: true },
      { parts: [{ type: 'text', text: 'Five again.' }] },
    ]);
    const { history } = await play(world, scene, AGENT, { threadId: 'thr_1' });
    const agent = CHANGES[what]!(world);
    const { response } = await play(world, scene, agent, { threadId: 'thr_1', history });
    expect(scene.server.violations).toEqual([]);
    expect(response.status).toBe('completed');
  });
});

const AGENT: Partial<AgentInput> = { carrier: 'tool', functions: 'all' };

const CHANGES: Readonly<Record<string, (world: World) => Partial<AgentInput>>> = {
  'the tools of the harness': ({ harness }) => {
    const execute = () => 'late';
    harness.tools.add([defineTool({ name: 'late', description: 'Came late', input: z.object({}), execute })]);
    return AGENT;
  },
  'the instructions of the agent': () => ({ ...AGENT, instructions: 'Be brief.' }),
  'the offered functions': () => ({ ...AGENT, functions: ['add'] }),
  'the carrier': () => ({ ...AGENT, carrier: 'text' }),
};
