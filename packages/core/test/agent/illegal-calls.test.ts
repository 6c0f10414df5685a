import { describe, expect, test } from 'vitest';
import { ODD_NAMES } from '../providers/conversations.js';
import { APIS, expectClean, openScene, openWorld, play } from './running.js';

describe.each(APIS)('%s', (api) => {
  test('the model reads which illegal name it called, and the thread continues', async () => {
    const names = ODD_NAMES.slice(1);
    const world = openWorld();
    const calls = names.map((name, index) => ({
      parts: [{ type: 'call' as const, name, arguments: { a: 1, b: 2 } }],
      ...(index === 0 ? {} : { expect: [names[index - 1]!.trim()] }),
    }));
    const scene = await openScene(api, [
      ...calls,
      { parts: [{ type: 'text', text: 'I give up.' }], expect: [names.at(-1)!.slice(0, 60)] },
      { parts: [{ type: 'text', text: 'Still here.' }] },
    ]);
    const first = await play(world, scene, { carrier: 'tool', functions: 'all' }, { threadId: 'thr_1' });
    const second = await play(
      world,
      scene,
      { carrier: 'tool', functions: 'all' },
      { threadId: 'thr_1', history: first.history, input: 'Are you there?' },
    );
    expectClean(scene);
    expect([first.response.status, second.response.status]).toEqual(['completed', 'completed']);
    expect(world.calls).toEqual([]);
  });

  test('a thread continues after a call whose id every server but its own refuses', async () => {
    const world = openWorld();
    const call = (call_id: string) => ({
      parts: [{ type: 'call' as const, name: 'add', arguments: { a: 1, b: 2 }, call_id }],
    });
    const scene = await openScene(api, [
      call('functions.add:0'),
      call('functions.add:0'),
      call('i'.repeat(80)),
      { parts: [{ type: 'text', text: 'Three.' }], expect: ['{"sum":3}'] },
    ]);
    const { response } = await play(world, scene, { carrier: 'tool', functions: 'all' });
    expectClean(scene);
    expect(response.status).toBe('completed');
    expect(world.calls).toHaveLength(3);
  });
});
