import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WallClock } from '#core/calls/session/session-clocks.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

it('a wall clock counts down while it runs, stands still while it is paused, and rings once at its end', () => {
  const onExpired = vi.fn();
  const clock = new WallClock(1_000, onExpired);
  clock.run();
  vi.advanceTimersByTime(400);
  expect(clock.remainingMs()).toBe(600);
  clock.pause();
  vi.advanceTimersByTime(5_000);
  expect(clock.reading()).toEqual({ remainingMs: 600, pausedMs: 5_000 });
  clock.run();
  vi.advanceTimersByTime(599);
  expect(onExpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(5_000);
  expect(onExpired).toHaveBeenCalledTimes(1);
  expect(clock.remainingMs()).toBe(0);
});

it('a wall clock gives back the time of a turn that the guest did not use, and does not ring within a turn', () => {
  const onExpired = vi.fn();
  const clock = new WallClock(1_000, onExpired);
  clock.run();
  clock.turnBegins();
  vi.advanceTimersByTime(3_000);
  expect(onExpired).not.toHaveBeenCalled();
  clock.turnEnds(100);
  expect(clock.remainingMs()).toBe(900);
  vi.advanceTimersByTime(5_000);
  expect(onExpired).toHaveBeenCalledTimes(1);
});
