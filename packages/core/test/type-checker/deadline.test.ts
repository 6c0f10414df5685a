import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CheckDeadline } from '#core/script/check/check-pool.js';

afterEach(() => {
  vi.useRealTimers();
});

describe('a deadline', () => {
  it('is missed by a check that computes', async () => {
    const missed = vi.fn();
    const startedAt = performance.now();
    const deadline = new CheckDeadline(20, () => performance.now() - startedAt, missed);
    await expect.poll(() => missed.mock.calls).toEqual([[false]]);
    deadline.stop();
  });

  it('is extended while the check waits for its turn', async () => {
    vi.useFakeTimers();
    const missed = vi.fn();
    const deadline = new CheckDeadline(200, () => 0, missed);
    vi.advanceTimersByTime(300);
    expect(missed).not.toHaveBeenCalled();
    deadline.stop();
  });

  it('is finally missed, however little the check has computed', async () => {
    const missed = vi.fn();
    new CheckDeadline(5, () => 0, missed);
    await expect.poll(() => missed.mock.calls).toEqual([[true]]);
  });

  it('uses the clock if the processor time is unknown', async () => {
    const missed = vi.fn();
    new CheckDeadline(5, () => undefined, missed);
    await expect.poll(() => missed.mock.calls).toEqual([[false]]);
  });

  it('that was stopped is never missed', async () => {
    const missed = vi.fn();
    new CheckDeadline(5, () => undefined, missed).stop();
    await delay(30);
    expect(missed).not.toHaveBeenCalled();
  });
});
