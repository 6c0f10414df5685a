import { describe, expect, it } from 'vitest';
import { endedOutcome, type OutcomeParts } from '#core/calls/session/session-outcome.js';
import { ScriptOutput } from '#core/calls/session/script-output.js';
import { restoreScript } from '#core/script/index.js';
import { DEFAULT_LIMITS, type Operation } from '#core/protocol/index.js';
import { contextWith } from '../support/run-context.js';

const METADATA = {
  durationMs: 0,
  computeMs: 0,
  approvalWaitMs: 0,
  toolCallsMade: 0,
  memoryUsedMb: 0,
  cacheHit: false,
  compilationCacheHit: false,
  runtime: 'none',
};

const script = restoreScript({ source: 'return 1', javascript: '(async () => 1)' } as never);

const read: Operation = {
  callId: 'scr_1_call_0',
  tool: 'read',
  input: {},
  effect: 'read',
  status: 'completed',
  startedAtMs: 0,
  durationMs: 1,
};

/** The outcome of a script that returned 1, with these changes. `progress`: the events that the guest dropped. */
function outcomeOf(changes: Partial<OutcomeParts> = {}, progress = 0) {
  const output = new ScriptOutput(contextWith(), 'scr_1', () => 0);
  const dropped = { logs: 0, progress };
  output.take({ output: '', logs: [], progress: [], dropped } as never, true);
  return endedOutcome({
    scriptId: 'scr_1',
    script: { ...script, diagnostics: [], plan: [] },
    limits: DEFAULT_LIMITS,
    end: { type: 'returned', json: '1', unhandled: [] },
    operations: [],
    stillRunning: [],
    detached: undefined,
    rejected: undefined,
    pendingTimers: [],
    valueWarning: undefined,
    rejectionCode: () => undefined,
    whyMissing: () => undefined,
    toolNames: [],
    builtinCalls: () => 0,
    unwritten: undefined,
    output,
    notes: [],
    metadata: METADATA,
    ...changes,
  });
}

describe('the outcome of a script', () => {
  it('has a note about dropped progress only if progress was dropped', () => {
    expect(outcomeOf().diagnostics).toEqual([]);
    expect(outcomeOf({}, 3).diagnostics).toMatchObject([{ code: 'progress-dropped' }]);
  });

  it('that failed after a call whose result is not trusted is not trusted either', () => {
    const end = { type: 'threw', error: { name: 'Error', message: 'no', stack: '' }, unhandled: [] } as const;
    expect(outcomeOf({ end, operations: [{ ...read, untrusted: true }] }).untrusted).toBe(true);
    expect(outcomeOf({ end, operations: [read] }).untrusted).toBeUndefined();
  });
});
