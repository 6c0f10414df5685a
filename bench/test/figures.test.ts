import { describe, expect, it } from 'vitest';
import { alternate, timeRuns } from '../measure.mjs';
import { median, quantile, summarise, timesBetter } from '../statistics.mjs';
import { failureOf, judge } from '../verdict.mjs';

const row = { name: 'row', title: 'a row', unit: 'ms', better: 'lower' };
const constant = (name: string, role: string, value: number) => ({ name, role, block: () => [value] });

describe('figures', () => {
  it('a median is the middle value, and a quantile lies between its neighbours', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(quantile([0, 10], 0.25)).toBe(2.5);
    expect(() => quantile([], 0.5)).toThrow(RangeError);
  });

  it('a figure is the median of the block medians, so that one disturbed block has no effect', () => {
    expect(
      summarise(
        [
          [1, 1, 1],
          [1, 1, 1],
          [50, 60, 70],
        ],
        'lower',
      ),
    ).toMatchObject({ median: 1, low: 1, high: 60, samples: 9 });
  });

  it('a ratio compares the blocks of one round with each other', () => {
    expect(timesBetter([[1], [10]], [[4], [40]], 'lower')).toBe(4);
    expect(timesBetter([[100], [10]], [[50], [5]], 'higher')).toBe(2);
  });

  it('a wrong answer is never timed', async () => {
    expect(await timeRuns(async () => 2, 2, { forMs: 0 })).toHaveLength(1);
    await expect(timeRuns(async () => 3, 2, { forMs: 0 })).rejects.toThrow('a wrong answer was timed');
  });

  it('contenders take turns, and each round starts with another one', async () => {
    const order: string[] = [];
    const entry = (name: string) => ({ name, role: 'part', block: () => (order.push(name), [1]) });
    await alternate(row, [entry('a'), entry('b'), entry('c')], 3);
    expect(order.join('')).toBe('abcbcacab');
  });
});

describe('the verdict', () => {
  const measured = (peerMs: number, oursMs = 1) =>
    alternate(
      { ...row, limit: 2, atLeast: { peer: 4 } },
      [constant('toolscript', 'ours', oursMs), constant('peer', 'peer', peerMs)],
      3,
    );

  it('a ratio within its budget passes a check, and one beyond it fails', async () => {
    expect(failureOf(judge([await measured(5)]), { check: true, strict: false })).toBeUndefined();
    expect(failureOf(judge([await measured(3)]), { check: true, strict: false })).toMatch(/beyond/u);
    expect(failureOf(judge([await measured(3)]), { check: false, strict: false })).toBeUndefined();
  });

  it('an absolute budget fails a strict run only', async () => {
    const slow = judge([await measured(50, 3)]);
    expect(failureOf(slow, { check: true, strict: false })).toBeUndefined();
    expect(failureOf(slow, { check: true, strict: true })).toMatch(/absolute/u);
  });

  it('a check without a comparison does not pass', async () => {
    const alone = await alternate({ ...row, atLeast: { peer: 4 } }, [constant('toolscript', 'ours', 1)], 2);
    expect(failureOf(judge([alone]), { check: true, strict: false })).toMatch(/no peer/u);
    expect(
      failureOf(judge([await alternate(row, [constant('toolscript', 'ours', 1)], 2)]), { check: true, strict: false }),
    ).toMatch(/no ratio/u);
  });

  it('a row that could not be measured fails every run', () => {
    const broken = { ...row, absent: 'a wrong answer', broken: true, figures: [], ratios: [] };
    expect(failureOf(judge([broken]), { check: false, strict: false })).toMatch(/could not be measured/u);
  });
});
