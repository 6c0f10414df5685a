import { LongAnswers } from '#server/http/long-answers.js';
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
    for await (const slice of threadText({ readItems }, THREAD, {
      operations: 'full',
      longAnswers: new LongAnswers(),
    })) {
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

  it('shares the turns of the event loop with other long texts: one reads at a time, and one slice is made in each turn', async () => {
    const longAnswers = new LongAnswers();
    let [reading, mostReading, slicesInTurn, mostSlices, isEnded] = [0, 0, 0, 0, false];
    const readItems = async (_id: string, { after = '0' } = {}) => {
      mostReading = Math.max(mostReading, (reading += 1));
      await new Promise((resolve) => setTimeout(resolve, 2));
      reading -= 1;
      return { turns: [turn(Number(after))], ...(after === '3' ? {} : { next: String(Number(after) + 1) }) };
    };
    const pass = () => {
      slicesInTurn = 0;
      if (!isEnded) setImmediate(pass);
    };
    setImmediate(pass);
    const texts = Array.from({ length: 4 }, async () => {
      for await (const _slice of threadText({ readItems }, THREAD, { operations: 'full', longAnswers }))
        mostSlices = Math.max(mostSlices, (slicesInTurn += 1));
    });
    await Promise.all(texts);
    isEnded = true;
    expect(mostReading).toBe(1);
    // A text yields the slice that it was making, and the first one after a read.
    expect(mostSlices).toBeLessThanOrEqual(2);
  });

  it('of a thread without turns is whole, too', async () => {
    const slices: string[] = [];
    const options = { operations: 'summary' as const, longAnswers: new LongAnswers() };
    for await (const slice of threadText({ readItems: async () => ({ turns: [] }) }, THREAD, options))
      slices.push(slice);
    expect(JSON.parse(slices.join(''))).toMatchObject({ threadId: 't', items: [], runs: [] });
  });
});
