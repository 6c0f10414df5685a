import { LongReads } from '@toolscript/service';
import { textSlices } from '#server/http/text-slices.js';
import { threadText } from '#server/http/thread-text.js';
import { describe, expect, it } from 'vitest';

const THREAD = { threadId: 't', principal: 'ada', title: 'T', workspace: '', createdAt: 1, updatedAt: 1 };
const message = (id: string) => ({ type: 'message', id, role: 'user', content: 'x'.repeat(10_000) }) as const;
const turn = (number: number) => ({
  turnId: `turn_${number}`,
  runId: `run_${number}`,
  state: 'completed' as const,
  createdAt: 1,
  items: Array.from({ length: 100 }, (_item, index) => message(`i_${number}_${index}`)),
});

describe('the text of a long thread', () => {
  it('is whole, and gives other work a turn after each slice', async () => {
    const turns = [turn(0), turn(1), turn(2)];
    const readItems = async (_id: string, { after = '0' } = {}) =>
      Number(after) < 2 ? { turns: [turns[Number(after)]!], next: String(Number(after) + 1) } : { turns: [turns[2]!] };
    let passed = 0;
    let isEnded = false;
    const pass = () => {
      passed += 1;
      if (!isEnded) setImmediate(pass);
    };
    setImmediate(pass);
    const slices: string[] = [];
    const options = { operations: 'full' as const, longReads: new LongReads(), scripts: 'separate' as const };
    for await (const slice of textSlices(threadText({ readItems }, THREAD, options))) {
      slices.push(slice);
      expect(slice.length).toBeLessThan(80_000);
      expect(passed).toBeGreaterThanOrEqual(slices.length - 1);
    }
    isEnded = true;
    const { principal: _principal, workspace: _workspace, ...shown } = THREAD;
    expect(JSON.parse(slices.join(''))).toEqual({
      ...shown,
      items: turns.flatMap(({ items }) => items),
      runs: turns.map(({ runId, turnId, state, items }) => ({ runId, turnId, status: state, itemCount: items.length })),
      scripts: 'separate',
    });
  });

  it('is read after the other long texts of its principal, and beside those of others', async () => {
    const longReads = new LongReads();
    const reading = { ada: 0, bob: 0 };
    const most = { ada: 0, all: 0 };
    const readItems = (name: 'ada' | 'bob') => async () => {
      reading[name] += 1;
      most.ada = Math.max(most.ada, reading.ada);
      most.all = Math.max(most.all, reading.ada + reading.bob);
      await new Promise((resolve) => setTimeout(resolve, 2));
      reading[name] -= 1;
      return { turns: [turn(0)] };
    };
    const texts = (['ada', 'ada', 'ada', 'bob'] as const).map(async (principal) => {
      const options = { operations: 'full' as const, longReads, scripts: 'separate' as const };
      const text = threadText({ readItems: readItems(principal) }, { ...THREAD, principal }, options);
      for await (const part of text) expect(part).not.toBe('');
    });
    await Promise.all(texts);
    expect(most).toEqual({ ada: 1, all: 2 });
  });

  it('of a thread without turns is whole, too', async () => {
    const slices: string[] = [];
    const options = { operations: 'summary' as const, longReads: new LongReads(), scripts: 'separate' as const };
    for await (const slice of textSlices(threadText({ readItems: async () => ({ turns: [] }) }, THREAD, options)))
      slices.push(slice);
    expect(JSON.parse(slices.join(''))).toMatchObject({ threadId: 't', items: [], runs: [] });
  });
});
