import { describe, expect, it } from 'vitest';
import { RunningScripts } from '#core/run/running-scripts.js';
import type { LiveScript } from '#core/protocol/run-context.js';
import type { Outcome } from '#core/protocol/index.js';
import { failedOutcome } from '#core/calls/session/index.js';
import { scriptFailure } from '#core/protocol/index.js';

const outcomeOf = (scriptId: string): Outcome =>
  failedOutcome(scriptFailure('ScriptRuntimeError', 'It threw.'), scriptId);

/** Starts a script that the test ends. */
function start(scripts: RunningScripts, principal = 'her') {
  let live: LiveScript | undefined;
  let end: (outcome: Outcome) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const ended = new Promise<{ outcome: Outcome }>((resolve, reject) => {
    end = (outcome) => resolve({ outcome });
    fail = reject;
  });
  const answer = scripts.run({ principal, signal: undefined, yieldAfterMs: 60_000 }, (_signal, given) => {
    live = given;
    return ended;
  });
  const { scriptId } = live!;
  return { scriptId, answer, end: () => end(outcomeOf(scriptId)), fail };
}

const isKnown = (scripts: RunningScripts, { scriptId }: { scriptId: string }, principal = 'her') =>
  scripts.find({ scriptId, principal }) !== undefined;

describe('the scripts of a harness', () => {
  it('leave out a script whose run was rejected', async () => {
    const scripts = new RunningScripts();
    const script = start(scripts);
    expect(isKnown(scripts, script)).toBe(true);
    script.fail(new Error('closed'));
    await expect(script.answer).rejects.toThrow('closed');
    expect(isKnown(scripts, script)).toBe(false);
  });

  it('forget the outcome that is the oldest, and not the script that began first', async () => {
    const scripts = new RunningScripts();
    const [long, ...others] = Array.from({ length: 21 }, () => start(scripts));
    for (const script of [...others, long!]) {
      script.end();
      await script.answer;
    }
    expect(isKnown(scripts, others[0]!)).toBe(false);
    expect([...others.slice(1), long!].filter((script) => !isKnown(scripts, script))).toEqual([]);
  });
});
