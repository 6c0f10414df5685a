import { TurnCancellation } from '#cli/acp/turn-cancellation.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const forever = () => new Promise<never>(() => {});

describe('the cancellation of a turn', () => {
  it('lets a script suspend whose question was withdrawn before the request arrived', async () => {
    const turn = new TurnCancellation();
    await turn.question(async () => 'suspend' as const);
    turn.request();
    expect([turn.isRequested, turn.signal.aborted]).toEqual([true, false]);
  });

  it('without a question aborts the turn', () => {
    const turn = new TurnCancellation();
    turn.request();
    expect(turn).toMatchObject({ isRequested: true, signal: { aborted: true } });
  });

  it('with a question lets the script suspend, for as long as a slow machine needs', () => {
    const turn = new TurnCancellation();
    void turn.question(forever);
    turn.request();
    vi.advanceTimersByTime(29_000);
    expect(turn).toMatchObject({ isRequested: true, signal: { aborted: false } });
    vi.advanceTimersByTime(1_000);
    expect(turn.signal.aborted).toBe(true);
  });

  it('aborts the turn when the user cancels a second time', () => {
    const turn = new TurnCancellation();
    void turn.question(forever);
    turn.request();
    turn.request();
    expect(turn.signal.aborted).toBe(true);
  });
});
