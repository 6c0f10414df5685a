import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool, memoryStore } from '#core/index.js';
import type { Harness } from '#core/harness/index.js';
import type { AuditEntry, StreamEvent, ToolCallContext, ToolEffect } from '#core/protocol/index.js';
import { KEY } from './world.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

/** The behaviour of the running tool. */
type Behaviour = (context: ToolCallContext) => unknown;

const afterAbort = (act: (context: ToolCallContext) => unknown): Behaviour => {
  return (context) => new Promise((resolve) => context.signal.addEventListener('abort', () => resolve(act(context))));
};

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'throws what the signal says': afterAbort(({ signal }) => Promise.reject(signal.reason as Error)),
  'throws an error of its own': afterAbort(() => Promise.reject(new Error('Half of it was written.'))),
  'completes all the same': afterAbort(() => 'all of it'),
  'completes with what is no JSON': afterAbort(() => /no JSON/u),
  'ignores the signal': () => new Promise(() => {}),
};

/** Calls the tool in a harness and gives the answer, its events and its audit log, without ids and times. */
async function call(
  isStored: boolean,
  effect: ToolEffect,
  behaviour: Behaviour,
  how: {
    input?: unknown;
    timeoutMs?: number;
    signal?: AbortSignal;
    meanwhile?: (harness: Harness) => void;
  } = {},
) {
  const { input = { text: 'a' }, timeoutMs, signal, meanwhile } = how;
  const audit: AuditEntry[] = [];
  const tool = defineTool({
    name: 'work',
    description: 'Works',
    effect,
    approval: 'never',
    input: z.object({ text: z.string(), by: z.string().default('model') }),
    execute: (_input, context) => {
      setImmediate(() => meanwhile?.(harness));
      return behaviour(context);
    },
  });
  const harness = createHarness({
    ...sharedThreads(),
    tools: [tool],
    approvals: 'auto',
    audit: (entry) => void audit.push(entry),
    ...(timeoutMs === undefined ? {} : { limits: { timeoutMs } }),
    ...(isStored ? { store: memoryStore(), suspensionKey: KEY } : {}),
  });
  onTestFinished(() => harness.close());
  const events: StreamEvent[] = [];
  const answer = await harness.callTool('work', input, {
    callId: 'call_of_the_model',
    onEvent: (event) => void events.push(event),
    ...(signal === undefined ? {} : { signal }),
  });
  const { startedAtMs: _startedAtMs, durationMs: _durationMs, ...operation } = answer;
  const seen = events.map(({ payload }) =>
    payload.type === 'tool_call_done' ? [payload.type, payload.operation.status] : [payload.type],
  );
  const noted = audit.map((entry) => [entry.type, entry.type === 'call_ended' ? entry.status : '']);
  return { operation, seen, noted };
}

/** Makes the same call without a store and with one. */
async function both(effect: ToolEffect, behaviour: Behaviour, how: () => Parameters<typeof call>[3] = () => ({})) {
  const [without, stored] = [
    await call(false, effect, behaviour, how()),
    await call(true, effect, behaviour, how()),
  ] as const;
  expect(stored).toEqual(without);
  return without;
}

function abortedWhileItRuns() {
  const controller = new AbortController();
  return { signal: controller.signal, meanwhile: () => controller.abort() };
}

describe.each(['read', 'write', 'external'] as const)('a structured call that may %s', (effect) => {
  it('and is aborted before it starts has not started, with and without a store', async () => {
    const { operation, seen } = await both(
      effect,
      () => expect.fail('it ran'),
      () => ({ signal: AbortSignal.abort() }),
    );
    expect(operation).toEqual({
      callId: 'call_of_the_model',
      tool: 'work',
      effect,
      input: { text: 'a', by: 'model' },
      status: 'not_started',
      error: { code: 'ToolExecutionError', message: 'The call to work was aborted: the run was cancelled.' },
    });
    expect(seen).toEqual([['tool_call_done', 'not_started']]);
  });

  const unfinished = effect === 'read' ? 'aborted' : 'unknown';
  const ENDS: Readonly<Record<keyof typeof BEHAVIOURS, object>> = {
    'throws what the signal says': {
      status: 'aborted',
      error: { message: expect.stringContaining('REASON') as unknown },
    },
    'throws an error of its own': { status: 'aborted', error: { message: 'Half of it was written.' } },
    'completes all the same': { status: 'completed', result: 'all of it' },
    'completes with what is no JSON': { status: 'completed', resultOmitted: true },
    'ignores the signal': {
      status: unfinished,
      error: {
        message: expect.stringMatching(
          effect === 'read' ? /REASON\.$/u : /REASON\. Whether it took effect is not known\.$/u,
        ) as unknown,
      },
    },
  };
  const CASES = [
    ['is aborted', 'the run was cancelled', abortedWhileItRuns],
    ['takes too long', 'the run took longer than 40 ms (timeoutMs)', () => ({ timeoutMs: 40 })],
    ['loses its harness', 'the run was cancelled', () => ({ meanwhile: (harness: Harness) => void harness.close() })],
  ] as const;
  it.each(CASES.flatMap(([what, reason, how]) => Object.keys(ENDS).map((name) => [what, name, reason, how] as const)))(
    'and that %s while its tool %s ends in the same way with and without a store',
    async (_what, name, reason, how) => {
      const { operation, seen, noted } = await both(effect, BEHAVIOURS[name]!, how);
      expect(JSON.parse(JSON.stringify(operation).replaceAll(reason, 'REASON'))).toMatchObject(ENDS[name]!);
      if (name === 'completes all the same') expect(operation).not.toHaveProperty('error');
      expect(seen).toEqual([['tool_call_start'], ['tool_call_done', operation.status]]);
      if (effect !== 'read')
        expect(noted).toEqual(
          [
            ['approval', ''],
            ['call_started', ''],
            ['call_ended', operation.status],
          ].slice(-2),
        );
    },
  );

  it.each([
    ['completes', () => ({ done: true })],
    ['throws', () => Promise.reject(new Error('No room left.'))],
    ['gives what is no JSON', () => /no JSON/u],
  ] as const)('and whose tool %s ends in the same way with and without a store', async (_what, behaviour) => {
    await both(effect, behaviour);
  });

  it.each([
    ['of another name', { txt: 'a' }],
    ['null', null],
    ['no object', 7],
    ['no JSON', { text: 'a', by: 1n }],
  ])('whose arguments are %s is refused in the same way with and without a store', async (_what, input) => {
    const { operation } = await both(
      effect,
      () => expect.fail('it ran'),
      () => ({ input }),
    );
    expect(operation).toMatchObject({ status: 'failed', error: { code: 'ToolValidationError' } });
  });
});
