import { describe, expect, it } from 'vitest';
import { FairQueue } from '#core/protocol/fair-queue.js';
import { openHarness } from './open-harness.js';

describe('a queue of a shared stage', () => {
  it('serves principals in turns, and the items of one principal in order of arrival', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3']) queue.add(item, 'ada');
    queue.add('none', undefined);
    for (const item of ['b1', 'b2']) queue.add(item, 'bob');
    queue.remove('a2');
    queue.remove('absent');
    const served = Array.from({ length: queue.size }, () => queue.next());
    expect(served).toEqual(['a1', 'none', 'b1', 'a3', 'b2']);
    expect([queue.next(), queue.size]).toEqual([undefined, 0]);
  });
});

describe.each(['error', 'off'] as const)('with typecheck %s', (typecheck) => {
  it('a script does not wait until all earlier scripts of another principal are compiled', async () => {
    const harness = openHarness({ tools: [], typecheck });
    const ended: string[] = [];
    const run = async (principal: string, source: string) => {
      await harness.runScript(source, { principal });
      ended.push(principal);
    };
    const long = (number: number) => `const x${number} = [${'1,'.repeat(2_000)}]; return x${number}.length;`;
    await Promise.all([
      ...Array.from({ length: 12 }, (_, number) => run('ada', long(number))),
      run('bob', 'return 1;'),
    ]);
    expect(ended.indexOf('bob')).toBeLessThan(6);
  });
});
