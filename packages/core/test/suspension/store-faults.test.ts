import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { afterEach, describe, expect, it } from 'vitest';
import { createHarness, defineTool, fileStore, listScripts, type Harness } from '#core/index.js';
import type { Outcome } from '#core/protocol/index.js';
import { files } from '#core/durable-files/private-folder.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

/** One file operation in this number fails. 1: each operation fails once. */
const STRIDE = Number(process.env['TOOLSCRIPT_FAULT_STRIDE'] ?? (process.env['CI'] === undefined ? 25 : 8));

const SOURCE = `
  await tools.mark({ n: 1 });
  await Promise.all([tools.mark({ n: 2 }), tools.mark({ n: 3 })]);
  await tools.ask({ n: 4 });
  await tools.mark({ n: 5 });
  return 'done';`;

const real = { ...files };
afterEach(() => void Object.assign(files, real));

/** The file operations of a store; one of them fails. */
class FaultyDisk {
  count = 0;
  hasFailed = false;
  readonly #at: number;
  readonly #fault: string;

  /** `at`: the number of the operation, from 0. */
  constructor(fault: string, at: number) {
    this.#fault = fault;
    this.#at = at;
    for (const name of Object.keys(real) as (keyof typeof real)[])
      Object.assign(files, { [name]: (...args: unknown[]) => this.#run(name, args) });
  }

  async #run(name: keyof typeof real, args: unknown[]): Promise<unknown> {
    const operation = real[name] as (...args: unknown[]) => Promise<unknown>;
    // A file that cannot be closed does not affect the store.
    if (name === 'close' || this.count++ !== this.#at) return operation(...args);
    this.hasFailed = true;
    if (this.#fault === 'half' && name === 'write') {
      const [file, bytes, , length, position] = args as [number, Uint8Array, number, number, number | null];
      return real.write(file, bytes, 0, Math.floor(length / 2), position);
    }
    throw Object.assign(new Error(`${this.#fault}: planted`), { code: this.#fault === 'half' ? 'EIO' : this.#fault });
  }
}

function open(folder: string, effects: string[]): Harness {
  const tool = (name: string, approval: 'always' | 'never') =>
    defineTool({
      name,
      description: name,
      effect: 'external',
      approval,
      input: z.object({ n: z.number() }),
      execute: ({ n }: { n: number }) => {
        effects.push(`${name} ${n}`);
        return n;
      },
    });
  return createHarness({
    tools: [tool('mark', 'never'), tool('ask', 'always')],
    suspensionKey: 'a secret of more than thirty-two bytes',
    typecheck: 'off',
    store: fileStore(folder),
    ...sharedThreads(),
  });
}

const approvals = (outcome: Outcome) =>
  outcome.status === 'suspended'
    ? Object.fromEntries(outcome.pendingApprovals.map(({ approvalId }) => [approvalId, 'approve' as const]))
    : {};

/** The store's state of the one script, and the report to its host. */
async function expectSame(folder: string, outcome: Outcome, what: string): Promise<void> {
  const [script] = await listScripts(fileStore(folder));
  const said = outcome.status === 'failed' ? outcome.error.code : outcome.status;
  const stands = script?.state ?? 'nothing';
  const allowed: Record<string, readonly string[]> = {
    suspended: ['suspended'],
    completed: ['ended'],
    StoreError: ['interrupted', 'suspended', 'nothing'],
  };
  expect(allowed[said], `${what}: ${said}`).toContain(stands);
  if (outcome.status === 'failed' && stands === 'interrupted') expect(outcome.error.retryable, what).toBe(false);
}

interface Life {
  readonly operations: number;
  readonly hasFailed: boolean;
}

/** A script from its start to its end, with a disk that fails once. */
async function live(fault: string, at: number): Promise<Life> {
  const folder = join(mkdtempSync(join(tmpdir(), 'toolscript-faults-')), 'kept');
  const effects: string[] = [];
  const what = `${fault} at operation ${at}`;
  const disk = new FaultyDisk(fault, at);
  const harness = open(folder, effects);
  let outcome = await harness.runScript(SOURCE);
  const { scriptId } = outcome;
  if (disk.hasFailed) {
    Object.assign(files, real);
    await expectSame(folder, outcome, `${what}, started`);
  }
  if (outcome.status === 'suspended') outcome = await harness.resume(scriptId, approvals(outcome));
  const isEarly = !disk.hasFailed;
  Object.assign(files, real);
  await harness.close();
  if (isEarly || outcome.status !== 'completed') await finish(folder, effects, scriptId, what);
  else await expectSame(folder, outcome, `${what}, resumed`);
  expect(new Set(effects).size, `${what}: ${effects.join()}`).toBe(effects.length);
  rmSync(join(folder, '..'), { recursive: true, force: true });
  return { operations: disk.count, hasFailed: disk.hasFailed };
}

/** Another process continues: a stored script reaches its end. */
async function finish(folder: string, effects: string[], scriptId: string, what: string): Promise<void> {
  const [script] = await listScripts(fileStore(folder));
  if (script === undefined || script.state === 'ended') return;
  const other = open(folder, effects);
  let outcome = await other.recover(scriptId);
  for (let round = 0; outcome.status === 'suspended' && round < 3; round++)
    outcome = await other.resume(scriptId, approvals(outcome));
  await other.close();
  const end = outcome.status === 'failed' ? `${outcome.error.code}: ${outcome.error.message}` : outcome.status;
  // A call with an unknown end rejects, and the script does not catch it.
  expect(end, what).toMatch(/^(?:completed|ToolExecutionError: .*)$/su);
  expect(await listScripts(fileStore(folder)), what).toMatchObject([{ state: 'ended' }]);
}

describe.each(['ENOSPC', 'EIO', 'half'])(
  'a disk that fails once with %s, at any operation of a script’s life',
  (fault) => {
    it('repeats no effect, strands no script, and leaves the store as it was reported to the host', async () => {
      const { operations } = await live(fault, Number.POSITIVE_INFINITY);
      expect(operations).toBeGreaterThan(60);
      let failed = 0;
      for (let at = Math.floor(Math.random() * STRIDE); at < operations; at += STRIDE)
        if ((await live(fault, at)).hasFailed) failed += 1;
      expect(failed).toBeGreaterThan(operations / STRIDE / 2);
    }, 7_200_000);
  },
);
