import { z } from 'zod';
import { expect, onTestFinished } from 'vitest';
import { createHarness, defineTool, type Harness, type HarnessOptions } from '#core/index.js';
import { SealedStore } from '#core/run/durability/sealed-store.js';
import { SuspensionSeal } from '#core/run/durability/suspension-envelope.js';
import { QuickJsPool } from '#core/sandbox/index.js';
import type { Decision, HarnessStore, JournalContent, Outcome, SandboxRuntime } from '#core/protocol/index.js';
import { hasOwnThreads, sharedThreads } from '@toolscript/testkit/shared-threads';

/** The process that claims a script in a test. */
export const HOLDER = { owner: 'a test', leaseMs: 60_000, force: true };

/** Copies the data of a script, or a part of it, into another store, as after the death of its process. */
export async function keepCopy(
  store: HarnessStore,
  scriptId: string,
  { lines, slot }: Pick<JournalContent, 'lines'> & { slot?: string | undefined },
  epoch = 1,
): Promise<HarnessStore> {
  for (let from = 0; from < epoch; from++) await store.claim.take(scriptId, from, HOLDER);
  await store.journal.append(scriptId, epoch, lines, { slot: slot ?? null });
  await store.claim.release(scriptId, epoch);
  return store;
}

export const KEY = 'a secret of more than thirty-two bytes';

/** The store with authenticated journals, as the harnesses of `open` use it. */
export function sealed(store: HarnessStore): HarnessStore {
  return new SealedStore(store, new SuspensionSeal([KEY]));
}

/** The external effects, in order: one entry for each call that took effect. */
export type Effects = string[];

/** `note` needs an approval; `mark` has an effect and needs none; `read` only reads. */
export function tools(effects: Effects = []) {
  return [
    defineTool({
      name: 'note',
      description: 'Writes something down; a person decides',
      effect: 'external',
      approval: 'always',
      input: z.object({ text: z.string(), by: z.string().default('script') }),
      execute: ({ text, by }: { text: string; by: string }) => {
        effects.push(`${by}: ${text}`);
        return { noted: text };
      },
    }),
    defineTool({
      name: 'mark',
      description: 'Writes something down',
      effect: 'write',
      approval: 'never',
      input: z.object({ text: z.string() }),
      execute: ({ text }: { text: string }) => {
        effects.push(`mark: ${text}`);
        return text;
      },
    }),
    defineTool({
      name: 'read',
      description: 'Reads',
      effect: 'read',
      approval: 'never',
      input: z.object({ size: z.number().default(1) }),
      execute: ({ size }: { size: number }) => 'x'.repeat(size),
    }),
  ];
}

/**
 * If the tests run with `TOOLSCRIPT_TEST_SUSPEND_AFTER_MS`, a user is asked who never decides, and scripts are suspended
 * after that time. Otherwise nobody is asked, so they are suspended at once.
 */
const SUSPEND_AFTER_MS = process.env['TOOLSCRIPT_TEST_SUSPEND_AFTER_MS'];
const absentUser: Partial<HarnessOptions> =
  SUSPEND_AFTER_MS === undefined
    ? {}
    : { approvals: () => new Promise(() => {}), suspendAfterMs: Number(SUSPEND_AFTER_MS) };

/** If `workers` or `runtime` is set, the harness has separate threads. */
export function open(options: Partial<HarnessOptions> & { effects?: Effects } = {}): Harness {
  const { effects, ...given } = options;
  const rest = 'approvals' in given ? given : { ...absentUser, ...given };
  const threads = hasOwnThreads(rest) ? {} : sharedThreads();
  const harness = createHarness({ tools: tools(effects), suspensionKey: KEY, typecheck: 'off', ...threads, ...rest });
  onTestFinished(() => harness.close());
  return harness;
}

export type Suspended = Extract<Outcome, { status: 'suspended' }>;

export function suspended(outcome: Outcome): Suspended {
  if (outcome.status !== 'suspended') expect.fail(`not suspended: ${JSON.stringify(outcome).slice(0, 2_000)}`);
  return outcome;
}

export function valueOf(outcome: Outcome): unknown {
  if (outcome.status !== 'completed') expect.fail(`not completed: ${JSON.stringify(outcome).slice(0, 2_000)}`);
  return outcome.value;
}

export function failureOf(outcome: Outcome) {
  if (outcome.status !== 'failed') expect.fail(`not failed: ${JSON.stringify(outcome).slice(0, 2_000)}`);
  return outcome.error;
}

/** The same decision about all pending approvals. */
export function decideAll(outcome: Outcome, decision: Decision): Record<string, Decision> {
  return Object.fromEntries(suspended(outcome).pendingApprovals.map(({ approvalId }) => [approvalId, decision]));
}

/** A runtime without captures, so the tape is the only way to resume. */
export function tapeOnly(changeSeed = false): SandboxRuntime {
  const pool = new QuickJsPool({ size: 1 });
  return {
    name: 'tape only',
    warm: () => pool.warm(),
    run: (job, observer) => {
      const run = pool.run(changeSeed ? { ...job, seed: [9, 9, 9, 9] } : job, observer);
      return { settle: run.settle.bind(run), cancel: run.cancel.bind(run) };
    },
    stats: () => pool.stats(),
    close: () => pool.close(),
  };
}
