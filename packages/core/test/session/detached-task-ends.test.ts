import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool, listScripts, memoryStore, type Harness, type HarnessOptions } from '#core/index.js';
import type { Decision, HarnessStore, Operation, Outcome, StreamEvent } from '#core/protocol/index.js';
import { keepCopy } from '../suspension/world.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

/** The timeout is long enough for any machine. */
const eventually = <Result>(look: () => Result | Promise<Result>) =>
  vi.waitFor(look, { timeout: 60_000, interval: 10 });

const KEY = 'a secret of more than thirty-two bytes';

interface Report {
  id: string;
  tool: string;
  status: string;
  result?: unknown;
  error?: { code: string; message: string };
}

/** `hold` writes, and ends when the test releases it; `note` needs an approval; `read` only reads. */
function world() {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const began: unknown[] = [];
  const tools = [
    defineTool({
      name: 'hold',
      description: 'Writes, when it is released',
      effect: 'write',
      approval: 'never',
      input: z.object({ name: z.string().default('one') }),
      execute: async ({ name }) => {
        began.push(name);
        await released;
        return { held: name };
      },
    }),
    defineTool({ name: 'note', description: 'Writes down', approval: 'always', execute: () => 'noted' }),
    defineTool({ name: 'read', description: 'Reads', effect: 'read', approval: 'never', execute: () => 'read' }),
  ];
  const store = memoryStore();
  const events: StreamEvent[] = [];
  const failures: string[] = [];
  const open = (options: Partial<HarnessOptions> = {}): Harness => {
    const harness = createHarness({
      ...sharedThreads(),
      tools,
      store,
      expose: { spawn: true },
      typecheck: 'off',
      suspensionKey: KEY,
      onEvent: (event) => events.push(event),
      onInternalError: (detail) => failures.push(detail),
      ...options,
    });
    onTestFinished(() => harness.close());
    return harness;
  };
  /** Ends of calls, in the order of their events. */
  const ends = () =>
    events.flatMap(({ payload }) => (payload.type === 'tool_call_done' ? [payload.operation.status] : []));
  return { open, store, began, ends, failures, release: () => release() };
}

type Suspended = Extract<Outcome, { status: 'suspended' }>;

function suspended(outcome: Outcome): Suspended {
  if (outcome.status !== 'suspended') expect.fail(JSON.stringify(outcome).slice(0, 2_000));
  return outcome;
}

function valueOf(outcome: Outcome): unknown {
  if (outcome.status !== 'completed') expect.fail(JSON.stringify(outcome).slice(0, 2_000));
  return outcome.value;
}

const approveAll = (outcome: Suspended): Record<string, Decision> =>
  Object.fromEntries(outcome.pendingApprovals.map(({ approvalId }) => [approvalId, 'approve' as const]));

const statusesOf = ({ operations }: { operations: readonly Operation[] }) => operations.map(({ status }) => status);

const tasksOf = async (harness: Harness) =>
  valueOf(await harness.runScript('return await tools.spawn.list()')) as Report[];

/** The content of a store after all its processes have died. */
async function afterTheDeathOfAll(store: HarnessStore): Promise<HarnessStore> {
  const copy = memoryStore();
  for (const { scriptId } of (await store.journal.list()).scripts) {
    const { epoch } = (await store.claim.current(scriptId))!;
    await keepCopy(copy, scriptId, (await store.journal.read(scriptId))!, epoch);
  }
  for (const name of await store.images.list()) await copy.images.put(name, (await store.images.get(name))!);
  return copy;
}

const FIVE = 'for (const name of ["a", "b", "c", "d", "e"]) tools.spawn.exec("hold", { name });';

describe('the places of detached tasks', () => {
  it('are separate: the calls of the script do not wait for them', async () => {
    const { open, release } = world();
    const harness = open({ limits: { maxConcurrentToolCalls: 1 } });
    expect(valueOf(await harness.runScript(`${FIVE} return await tools.read()`))).toBe('read');
    release();
  });

  it('are limited, and a task that waits for one is reported as queued to its own script and to later ones', async () => {
    const { open, release, began } = world();
    const harness = open({ limits: { maxConcurrentDetachedTasks: 2 } });
    const source = `const last = tools.spawn.exec("hold", { name: "x" }); ${FIVE}
      const listed = (await tools.spawn.list()).map(({ status }) => status);
      return [last.id, (await tools.spawn.read(last.id)).status, listed.slice(2)]`;
    const [first, status, others] = valueOf(await harness.runScript(source)) as [string, string, string[]];
    expect(status).toBe('running');
    expect(others).toEqual(['queued', 'queued', 'queued', 'queued']);
    expect(began).toEqual(['x', 'a']);
    const listed = await tasksOf(harness);
    expect(listed.map((task) => task.status)).toEqual(['running', 'running', ...others]);
    const cancelled = listed.at(-1)!.id;
    expect(valueOf(await harness.runScript(`return await tools.spawn.cancel("${cancelled}")`))).toBe(true);
    const waits = Promise.all(
      [first, ...listed.slice(1, -1).map(({ id }) => id)].map((id) =>
        harness.runScript(`return (await tools.spawn.wait("${id}")).result`),
      ),
    );
    release();
    expect((await waits).map(valueOf)).toEqual(['x', 'a', 'b', 'c', 'd'].map((held) => ({ held })));
    expect(began).toEqual(['x', 'a', 'b', 'c', 'd']);
    expect((await tasksOf(harness)).at(-1)!.status).toBe('cancelled');
  });

  it('are not needed while a user has to decide, which is reported', async () => {
    const { open } = world();
    let approve = (_decision: 'approve') => {};
    const harness = open({ approvals: () => new Promise((resolve) => (approve = resolve)) });
    const id = valueOf(await harness.runScript('return tools.spawn.exec("note").id')) as string;
    const status = async () => valueOf(await harness.runScript(`return (await tools.spawn.read("${id}")).status`));
    await eventually(async () => expect(await status()).toBe('awaiting_approval'));
    approve('approve');
    expect(valueOf(await harness.runScript(`return (await tools.spawn.wait("${id}")).result`))).toBe('noted');
  });
});

describe('a detached task that has not started when its script ends', () => {
  it('is reported as detached, never as not started, and its end is reported later', async () => {
    const { open, release, ends } = world();
    const outcome = await open({ limits: { maxConcurrentDetachedTasks: 2 } }).runScript(FIVE);
    expect(statusesOf(outcome)).toEqual(Array.from({ length: 5 }, () => 'detached'));
    expect(ends()).toEqual([]);
    release();
    await eventually(() => expect(ends()).toEqual(Array.from({ length: 5 }, () => 'completed')));
  });

  it('leaves its script ended in the store, even if only its intent was written', async () => {
    const { open, store, failures } = world();
    let approve = (_decision: 'approve') => {};
    const harness = open({ approvals: () => new Promise((resolve) => (approve = resolve)) });
    const { scriptId } = await harness.runScript('tools.spawn.exec("note"); return 1');
    approve('approve');
    await eventually(async () => {
      const details = await harness.inspect(scriptId);
      expect(details?.operations.map(({ status }) => status)).toEqual(['completed']);
    });
    expect(await listScripts(store)).toMatchObject([{ scriptId, state: 'ended' }]);
    expect((await store.claim.current(scriptId))?.isHeld).toBe(false);
    expect(await open().recover(scriptId)).toMatchObject({ status: 'failed', error: { code: 'SuspensionError' } });
    expect(failures).toEqual([]);
  });
});

describe('the end of a detached task', () => {
  it('is written after the end of its script', async () => {
    const { open, store, release } = world();
    const harness = open();
    const { scriptId } = await harness.runScript('tools.spawn.exec("hold"); return await tools.read()');
    const statuses = async () => (await harness.inspect(scriptId))?.operations.map(({ status }) => status);
    expect(await statuses()).toEqual(['unknown', 'completed']);
    release();
    await eventually(async () => expect(await statuses()).toEqual(['completed', 'completed']));
    expect(await listScripts(store)).toMatchObject([{ state: 'ended' }]);
    const left = open({ store: await afterTheDeathOfAll(store) });
    expect((await left.inspect(scriptId))?.operations[0]).toMatchObject({ result: { held: 'one' } });
  });

  const SOURCE = `const { id, done } = tools.spawn.exec("hold"); await tools.note();
    const result = await done.catch(({ code, data }) => [code, data]);
    const ended = [result, (await tools.spawn.wait(id)).status]; await other; return ended`;

  it('is written while its script is suspended, and read at the resume', async () => {
    const { open, store, release } = world();
    const harness = open();
    const first = suspended(await harness.runScript(`const other = undefined; ${SOURCE}`));
    expect(statusesOf(first)).toEqual(['detached', 'awaiting_approval']);
    release();
    const look = () => harness.inspect(first.scriptId);
    await eventually(async () =>
      expect((await look())!.operations.map(({ status }) => status)).toEqual(['completed', 'awaiting_approval']),
    );
    expect((await look())!.state).toBe('suspended');
    expect(await listScripts(store)).toMatchObject([{ state: 'suspended', approvals: [{ tool: 'note' }] }]);
    const other = open({ store: await afterTheDeathOfAll(store) });
    const done = await other.resume(first.suspension, approveAll(first));
    expect(valueOf(done)).toEqual([{ held: 'one' }, 'completed']);
    expect(done.operations).toMatchObject([{ status: 'completed', result: { held: 'one' } }, { status: 'completed' }]);
    expect(await tasksOf(other)).toMatchObject([{ tool: 'hold', status: 'completed' }]);
  });

  it('that was not written is unknown in every report', async () => {
    const { open, store, release, failures } = world();
    const first = suspended(await open().runScript(`const other = tools.note(); ${SOURCE}`));
    const copy = await afterTheDeathOfAll(store);
    const other = open({ store: copy });
    const [one, two] = first.pendingApprovals;
    const second = suspended(await other.resume(first.suspension, { [two!.approvalId]: 'approve' }));
    expect(statusesOf(second)).toEqual(['awaiting_approval', 'unknown', 'completed']);
    expect(await tasksOf(other)).toMatchObject([{ tool: 'hold', status: 'unknown' }]);
    // The process that had started the task is alive after all. It gets no other message about the script.
    release();
    const third = open({ store: await afterTheDeathOfAll(copy) });
    const done = await third.resume(second.suspension, { [one!.approvalId]: 'approve' });
    expect(valueOf(done)).toEqual([['ToolExecutionError', expect.objectContaining({ status: 'unknown' })], 'unknown']);
    expect(statusesOf(done)).toEqual(['completed', 'unknown', 'completed']);
    expect(failures).toEqual([]);
  });

  it('is delivered to a script that was suspended more than once meanwhile', async () => {
    const { open, release } = world();
    const harness = open();
    const source = `const { done } = tools.spawn.exec("hold"); await tools.note(); await tools.note(); return await done`;
    const first = suspended(await harness.runScript(source));
    const second = suspended(await harness.resume(first.suspension, approveAll(first)));
    expect(statusesOf(second)).toEqual(['detached', 'completed', 'awaiting_approval']);
    const pending = harness.resume(second.suspension, approveAll(second));
    release();
    const done = await pending;
    expect(valueOf(done)).toEqual({ held: 'one' });
    expect(statusesOf(done)).toEqual(['completed', 'completed', 'completed']);
  });

  it('is written by the resumed script, so that a crash does not lose it', async () => {
    const { open, store, release, began } = world();
    const harness = open();
    const source = `const { done } = tools.spawn.exec("hold"); await tools.note(); const held = await done;
      await tools.spawn.exec("hold", { name: "never" }).done; return held`;
    const first = suspended(await harness.runScript(source));
    const pending = harness.resume(first.suspension, approveAll(first));
    release();
    valueOf(await pending);
    const left = open({ store: await afterTheDeathOfAll(store) });
    expect((await left.inspect(first.scriptId))!.operations.map(({ status }) => status)).toEqual([
      'completed',
      'completed',
      'completed',
    ]);
    expect(began).toEqual(['one', 'never']);
  });

  it('that is still queued when its script is suspended is delivered without undoing the suspension', async () => {
    const { open, store, release, ends } = world();
    const harness = open({ limits: { maxConcurrentDetachedTasks: 1 } });
    const source = `const tasks = ["a", "b", "c"].map((name) => tools.spawn.exec("hold", { name }).done);
      await tools.note(); return await Promise.all(tasks)`;
    const first = suspended(await harness.runScript(source));
    expect(statusesOf(first)).toEqual(['detached', 'detached', 'detached', 'awaiting_approval']);
    release();
    await eventually(() => expect(ends()).toHaveLength(3));
    await eventually(async () =>
      expect((await harness.inspect(first.scriptId))!.operations.map(({ status }) => status)).toEqual([
        'completed',
        'completed',
        'completed',
        'awaiting_approval',
      ]),
    );
    const other = open({ store: await afterTheDeathOfAll(store) });
    const looked = suspended(await other.recover(first.scriptId));
    const done = await other.resume(looked.suspension, approveAll(looked));
    expect(valueOf(done)).toEqual(['a', 'b', 'c'].map((held) => ({ held })));
    expect(statusesOf(done)).toEqual(['completed', 'completed', 'completed', 'completed']);
  });
});
