import { describe, expect, it } from 'vitest';
import { CallJournal, noopJournal, ScriptTape, type ScriptJournal } from '#core/calls/session/journal.js';
import type { Operation, SandboxCall, Settlement } from '#core/protocol/index.js';

const callOf = (callIndex: number, name: string): SandboxCall => ({
  callIndex,
  name,
  argsJson: '{}',
  line: 0,
  column: 0,
});

const operationOf = (callIndex: number, more: Partial<Operation> = {}): Operation => ({
  callId: `scr_1_call_${callIndex}`,
  tool: 'a',
  input: {},
  effect: 'write',
  status: 'completed',
  startedAtMs: 0,
  durationMs: 1,
  ...more,
});

const answerOf = (callIndex: number): Settlement => ({ callIndex, ok: true, json: '1' });

/** A journal of calls, and what it writes besides the intents: one text for each line. */
function open() {
  const lines: string[] = [];
  const journal: ScriptJournal = {
    ...noopJournal,
    isStored: true,
    finished: ({ callId, status }) => void lines.push(`finished ${callId.at(-1)} ${status}`),
    delivered: ({ settlements, ended }) => void lines.push(`delivered ${settlements.length} ended ${ended.length}`),
  };
  const calls = new CallJournal(journal, new ScriptTape(), (error) => expect.fail(String(error)));
  return { calls, lines };
}

describe('the journal of calls', () => {
  it('stores the end of a call whose answer was delivered before the end', () => {
    const { calls, lines } = open();
    void calls.intended(operationOf(0), false);
    void calls.delivered(1, [answerOf(0)]);
    expect(lines).toEqual(['delivered 1 ended 0']);
    calls.ended(operationOf(0, { status: 'aborted' }));
    expect(lines).toEqual(['delivered 1 ended 0', 'finished 0 aborted']);
  });

  it('stores the end of a detached task at once, and no end of another call without effects', () => {
    const { calls, lines } = open();
    for (const [index, name] of ['$spawn', 'read', '$catalog'].entries()) {
      calls.started(callOf(index, name));
      calls.ended(operationOf(index, { effect: 'read' }));
      calls.answered(answerOf(index));
    }
    expect(lines).toEqual(['finished 0 completed']);
  });

  it('stores an end that was delivered with its answer only there', () => {
    const { calls, lines } = open();
    void calls.intended(operationOf(0), false);
    calls.ended(operationOf(0));
    void calls.delivered(1, [answerOf(0)]);
    calls.answered(answerOf(0));
    expect(lines).toEqual(['delivered 1 ended 1']);
  });
});
