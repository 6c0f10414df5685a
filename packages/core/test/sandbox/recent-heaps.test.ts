import { describe, expect, it } from 'vitest';
import { RecentHeaps } from '#core/sandbox/worker/recent-heaps.js';

const MB = 1_048_576;
const free = () => false;

function keeping(...sizes: readonly number[]) {
  const heaps = new RecentHeaps();
  const memories = sizes.map((size, index) => {
    const memory = new Uint8Array(size * MB);
    heaps.makeRoom(memory.length, free);
    heaps.put(String(index), memory);
    return memory;
  });
  return { heaps, memories };
}

describe('the memories that a worker keeps', () => {
  it('give way to a new one, the oldest first, and one of its size is used again', () => {
    const { heaps, memories } = keeping(20, 20, 20);
    // Comparing the bytes would take long.
    const kept = () => ['0', '1', '2'].map((key, index) => heaps.get(key) === memories[index]);
    expect(heaps.makeRoom(20 * MB, free) === memories[0]).toBe(true);
    expect(kept()).toEqual([false, true, true]);
    expect(heaps.makeRoom(30 * MB, free) === undefined).toBe(true);
    expect(kept()).toEqual([false, false, true]);
  });

  it('are not overwritten while a script needs them', () => {
    const { heaps, memories } = keeping(40);
    expect(heaps.makeRoom(40 * MB, (memory) => memory === memories[0]) === undefined).toBe(true);
    expect(heaps.get('0') === undefined).toBe(true);
  });

  it('do not include one that is larger than their room', () => {
    expect(keeping(65).heaps.get('0') === undefined).toBe(true);
  });
});
