import { z } from 'zod';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createHarness, defineTool, type Harness, type Outcome } from '@toolscript/core';
import type { SandboxRuntime } from '@toolscript/core/protocol';
import { HOSTILE_SCRIPTS } from './hostile-scripts.js';

const LIMITS = { timeoutMs: 1_500, computeMs: 700, memoryMb: 48 };
/** For a script that something other than time ends, however slow the machine is. */
const LONG_LIMITS = { timeoutMs: 60_000, computeMs: 20_000 };

const effects: string[] = [];

const anyObject = z.looseObject({});

const tools = [
  defineTool({
    name: 'echo',
    description: 'Gives back its arguments',
    input: anyObject,
    approval: 'never',
    effect: 'read',
    execute: (input) => input,
  }),
  defineTool({
    name: 'reflect',
    description: 'Gives back what it was given',
    input: z.object({ nested: z.unknown() }),
    approval: 'never',
    effect: 'read',
    execute: (input) => input,
  }),
  defineTool({
    name: 'fail',
    description: 'Fails',
    input: anyObject,
    approval: 'never',
    effect: 'read',
    execute: () => Promise.reject(new Error('it failed')),
  }),
  defineTool({
    name: 'never',
    description: 'Answers only when aborted',
    input: anyObject,
    approval: 'never',
    effect: 'read',
    execute: (_input, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  }),
  defineTool({
    name: 'danger',
    description: 'Must never run',
    input: anyObject,
    approval: 'always',
    effect: 'external',
    execute: () => void effects.push('danger'),
  }),
  defineTool({
    name: 'hidden',
    description: 'Is not exposed',
    input: anyObject,
    approval: 'never',
    effect: 'external',
    execute: () => void effects.push('hidden'),
  }),
];

/** Runs every hostile script. `known`: ends that only this runtime has, by the script's name. */
export function hostileLaws(
  runtime: () => 'quickjs' | SandboxRuntime,
  known: Readonly<Record<string, readonly string[]>> = {},
): void {
  let harness: Harness;
  const internal: string[] = [];

  beforeAll(async () => {
    harness = createHarness({
      typecheck: 'off',
      tools,
      runtime: runtime(),
      expose: { tools: ['echo', 'reflect', 'fail', 'never', 'danger'] },
      limits: LIMITS,
      approvals: 'deny',
      onInternalError: (detail) => internal.push(detail),
    });
    await harness.warm();
  });
  afterAll(() => harness.close());

  it.each(HOSTILE_SCRIPTS.map((script) => [script.class, script.name, script] as const))(
    '%s · %s',
    async (_class, name, script) => {
      const allowed = known[name] ?? script.ends;
      const limits = allowed.includes('ScriptTimeoutError') ? LIMITS : { ...LIMITS, ...LONG_LIMITS };
      // A script that is not stopped never ends.
      const outcome = await harness.runScript(script.source, { limits });
      const ended = outcome.status === 'failed' ? outcome.error.code : outcome.status;
      expect(allowed, JSON.stringify(outcome.status === 'failed' ? outcome.error : outcome)).toContain(ended);
      if (outcome.status === 'completed' && 'value' in script && known[name] === undefined)
        expect(outcome.value).toEqual(script.value);
      expectNothingLeaked(outcome);
      await expectNextIsClean(harness);
      expect(effects).toEqual([]);
      expect(internal.splice(0)).toEqual([]);
    },
  );
}

function expectNothingLeaked(outcome: Outcome): void {
  const { error } = outcome as { error?: unknown };
  const text = JSON.stringify([error, outcome.logs, outcome.operations, outcome.diagnostics]);
  expect(text).not.toMatch(/node_modules|node:internal|dist\/|packages\/|toolscript:|<null>/u);
}

async function expectNextIsClean(harness: Harness): Promise<void> {
  const next = await harness.runScript(
    'return [typeof leak, Object.keys(globalThis), ({}).polluted, [].owned, (await tools.echo({ a: 1 })).a, new Error("x").name, JSON.stringify({ a: 1 })]',
    { limits: LONG_LIMITS },
  );
  expect(next).toMatchObject({ status: 'completed', value: ['undefined', [], null, null, 1, 'Error', '{"a":1}'] });
}
