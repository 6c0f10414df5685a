import { describe, expect, it } from 'vitest';
import { changedCounters, committedFigures, readCounters } from '../counters/counters.mjs';

describe('a script and a call', () => {
  it('cost what the committed figures say, within 5 %', () => {
    expect(changedCounters(committedFigures(), readCounters())).toEqual([]);
  });

  it('that make one more Map are noticed by its counter', () => {
    const { counts } = committedFigures();
    const changed = changedCounters(committedFigures(), readCounters({ env: { PLANT: 'map' } }));
    expect(changed).toContain(`script maps: ${counts['script maps']} → ${counts['script maps']! + 1}`);
  });
});

describe('the comparison of counters', () => {
  const committed = {
    node: Number(process.versions.node.split('.')[0]),
    counts: { maps: 20 },
    bytes: { heap: 10_000 },
  };

  it('accepts a change of 5 %, and names the counter of a larger one', () => {
    expect(changedCounters(committed, { counts: { maps: 21 }, bytes: { heap: 9_500 } })).toEqual([]);
    expect(changedCounters(committed, { counts: { maps: 22 }, bytes: { heap: 9_400 } })).toEqual([
      'maps: 20 → 22',
      'heap: 10000 → 9400',
    ]);
  });

  it('names a counter that is missing on one side', () => {
    expect(changedCounters(committed, { counts: {}, bytes: { heap: 10_000, more: 1 } })).toEqual([
      'maps: 20 → undefined',
      'more: undefined → 1',
    ]);
  });

  it('compares bytes only in the version of Node.js that wrote them', () => {
    const elsewhere = { ...committed, node: committed.node + 1 };
    expect(changedCounters(elsewhere, { counts: { maps: 20 }, bytes: { heap: 1 } })).toEqual([]);
  });
});
