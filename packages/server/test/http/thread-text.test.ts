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
    for await (const slice of textSlices(threadText({ readItems }, THREAD, 'full'))) {
      slices.push(slice);
      expect(slice.length).toBeLessThan(80_000);
      expect(passed).toBeGreaterThanOrEqual(slices.length - 1);
    }
    isEnded = true;
    const { principal: _principal, workspace: _workspace, ...shown } = THREAD;
    expect(JSON.parse(slices.join(''))).toEqual({
      ...shown,
      items: turns.flatMap(({ items }) => items),
      runs: turns.map(({ runId, turnId, state }) => ({ runId, turnId, status: state })),
    });
  });

  it('of a thread without turns is whole, too', async () => {
    const slices: string[] = [];
    for await (const slice of textSlices(threadText({ readItems: async () => ({ turns: [] }) }, THREAD, 'summary')))
      slices.push(slice);
    expect(JSON.parse(slices.join(''))).toMatchObject({ threadId: 't', items: [], runs: [] });
  });
});
