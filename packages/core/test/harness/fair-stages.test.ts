import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTool, type HarnessOptions } from '#core/index.js';
import { FairQueue } from '#core/protocol/fair-queue.js';
import { openHarness, valueOf } from './open-harness.js';

const turnOf = (principal: string | undefined, waitMs = 60_000) => ({ principal, waitMs });
const never = () => expect.unreachable();

describe('a queue of a shared stage', () => {
  it('serves principals in turns, and the items of one principal in order of arrival', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3']) queue.add(item, turnOf('ada'), never);
    queue.add('none', turnOf(undefined), never);
    for (const item of ['b1', 'b2']) queue.add(item, turnOf('bob'), never);
    queue.remove('a2');
    queue.remove('absent');
    const served = Array.from({ length: queue.size }, () => queue.next());
    expect(served).toEqual(['a1', 'none', 'b1', 'a3', 'b2']);
    expect([queue.next(), queue.size]).toEqual([undefined, 0]);
  });

  it('refuses an item that has waited for its time, and no other', async () => {
    const queue = new FairQueue<string>();
    const refused = vi.fn();
    queue.add('patient', turnOf('ada'), never);
    queue.add('hasty', turnOf('ada', 20), refused);
    await expect.poll(() => refused.mock.calls.length).toBe(1);
    expect(refused.mock.calls[0]![0]).toBeGreaterThanOrEqual(18);
    expect([queue.next(), queue.next()]).toEqual(['patient', undefined]);
  });

  it('that is full refuses the last item of the principal with the most items', async () => {
    const queue = new FairQueue<string>(3);
    const refused: string[] = [];
    const add = (item: string, principal: string) => queue.add(item, turnOf(principal), () => refused.push(item));
    for (const item of ['a1', 'a2', 'a3', 'a4']) add(item, 'ada');
    add('b1', 'bob');
    expect(refused).toEqual([]);
    await Promise.resolve();
    expect(refused).toEqual(['a4', 'a3']);
    expect(queue.clear()).toEqual(['a1', 'a2', 'b1']);
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
    // In the order of arrival, it would be among the last two.
    expect(ended.indexOf('bob')).toBeLessThan(10);
  });

  it('a script does not wait for the turn of another principal with the same source', async () => {
    const harness = openHarness({ tools: [], typecheck });
    const ended: string[] = [];
    const run = async (principal: string, source: string) => {
      await harness.runScript(source, { principal });
      ended.push(principal);
    };
    const long = (number: number) => `const y${number} = [${'1,'.repeat(2_000)}]; return y${number}.length;`;
    await Promise.all([...Array.from({ length: 12 }, (_, number) => run('ada', long(number))), run('bob', long(11))]);
    // In the order of arrival, it would be among the last two.
    expect(ended.indexOf('bob')).toBeLessThan(10);
  });

  it('a script that gets no turn of the compiler in time is refused as busy', async () => {
    const harness = openHarness({ tools: [], typecheck, limits: { queueWaitMs: 0 } });
    await harness.warm();
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, (_, number) =>
        harness.runScript(`return [${'1,'.repeat(8_000)}].length + ${number};`, { principal: 'ada' }),
      ),
    );
    const failures = outcomes.map((outcome) => outcome.status === 'failed' && outcome.error);
    expect(failures).toContainEqual(
      expect.objectContaining({
        code: 'HarnessBusyError',
        message: expect.stringMatching(/^No compiler became free/u) as string,
      }),
    );
  });
});

describe('a script whose types take long to check', () => {
  const slow = (number: number) =>
    `type R<N extends number, A extends any[] = []> = A["length"] extends N ? A : R<N, [...A, 0]>; const x: R<999> = [] as any; await tools.note({}); return ${number};`;
  const open = (note: () => number, options: Partial<HarnessOptions>) => {
    const tool = defineTool({
      name: 'note',
      description: 'Notes.',
      input: z.object({}),
      approval: 'never',
      effect: 'read',
      execute: note,
    });
    return openHarness({ tools: [tool], ...options });
  };

  it('never runs, and a script of another principal does not wait for all scripts of this kind', async () => {
    const note = vi.fn(() => 1);
    const harness = open(note, { limits: { queueWaitMs: 90_000 } });
    const ended: string[] = [];
    const run = async (principal: string, source: string) => {
      const outcome = await harness.runScript(source, { principal });
      ended.push(principal);
      return outcome.status === 'failed' ? outcome.error : outcome.status;
    };
    const ada = Array.from({ length: 4 }, (_, number) => run('ada', slow(number)));
    expect(await run('bob', 'return 1;')).toBe('completed');
    const failures = await Promise.all(ada);
    expect(note).not.toHaveBeenCalled();
    for (const failure of failures)
      expect(failure).toMatchObject({
        code: 'ScriptTypeError',
        message: 'The types of this script take too long to check, so nothing has run.',
        metadata: { rule: 'typecheck-slow' },
      });
    expect(ended.indexOf('bob')).toBeLessThan(3);
  });

  it('and gets no turn is refused as busy, also when it is sent again', async () => {
    const note = vi.fn(() => 1);
    const harness = open(note, { limits: { queueWaitMs: 1 } });
    await harness.warm();
    const codes = async () => {
      const outcomes = await Promise.all(Array.from({ length: 6 }, (_, number) => harness.runScript(slow(number))));
      return outcomes.map((outcome) => outcome.status === 'failed' && outcome.error.code);
    };
    const all = new Set([...(await codes()), ...(await codes())]);
    expect(all).toContain('HarnessBusyError');
    expect([...all].filter((code) => code !== 'HarnessBusyError' && code !== 'ScriptTypeError')).toEqual([]);
    expect(note).not.toHaveBeenCalled();
  });

  it('runs with a note if type errors are only warnings', async () => {
    const harness = open(() => 1, { typecheck: 'warn' });
    const outcome = await harness.runScript(slow(7));
    expect(valueOf(outcome)).toBe(7);
    expect(outcome.diagnostics.map(({ code }) => code)).toEqual(['typecheck-slow']);
  });
});
