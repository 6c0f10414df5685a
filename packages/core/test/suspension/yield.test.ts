import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool, memoryStore, type Harness } from '#core/index.js';
import type { HarnessStore, Outcome, Tool } from '#core/protocol/index.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { decideAll, failureOf, KEY, open, suspended, tools, valueOf, type Effects } from './world.js';

/** A tool with effects that runs until it is released, and reports its calls. */
function gate(effects: Effects = []) {
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let arrive: () => void = () => {};
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const hold = (effect: 'read' | 'write') =>
    defineTool({
      name: effect === 'read' ? 'holdRead' : 'hold',
      description: 'Runs until it is released',
      effect,
      approval: 'never',
      input: z.object({}),
      execute: async (_input: object, { signal }) => {
        arrive();
        effects.push('held');
        const aborted = new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        await Promise.race([released, aborted]);
        return 'released';
      },
    });
  return { tools: [hold('write'), hold('read'), ...tools(effects)] as Tool[], release: () => release(), arrived };
}

const HELD = 'text("before"); const held = await tools.hold({}); text("after"); return held;';
const SOON = { yieldAfterMs: 0 };

async function yielded(harness: Harness, source = HELD, options: object = {}): Promise<string> {
  const outcome = await harness.runScript(source, { ...SOON, ...options });
  expect(outcome.status).toBe('running');
  return outcome.scriptId;
}

const openOver = (store: HarnessStore | undefined, options: Parameters<typeof open>[0] = {}) =>
  open({ store, ...options });

describe('a script that outlives yieldAfterMs', () => {
  it('answers running, continues, and has one end for everyone who asks', async () => {
    const { tools, release, arrived } = gate();
    const harness = open({ tools });
    const scriptId = await yielded(harness);
    await arrived;
    const before = await harness.waitScript(scriptId, { forMs: 0 });
    expect(before).toMatchObject({ status: 'running', scriptId, output: 'before' });
    expect(before.operations).toMatchObject([{ tool: 'hold', status: 'unknown' }]);
    const second = await harness.waitScript(scriptId, { forMs: 0 });
    expect([second.status, second.output]).toEqual(['running', '']);
    const asked = [harness.waitScript(scriptId), harness.waitScript(scriptId, { forMs: 60_000 })];
    release();
    const [one, other] = await Promise.all(asked);
    expect(valueOf(one!)).toBe('released');
    expect(one!.output).toBe('beforeafter');
    expect(one!.operations).toMatchObject([{ tool: 'hold', status: 'completed', result: 'released' }]);
    expect(other).toEqual(one);
    expect(await harness.waitScript(scriptId)).toEqual(one);
  });

  it('is the default of a harness, and not of answers or asTool', async () => {
    const { tools, release, arrived } = gate();
    const harness = open({ tools, yieldAfterMs: 0 });
    const { status, scriptId } = await harness.runScript(HELD);
    expect(status).toBe('running');
    await arrived;
    release();
    expect(valueOf(await harness.waitScript(scriptId))).toBe('released');
    expect(await harness.asTool().execute({ code: 'return 6 * 7' })).toContain('42');
    const outcomes: Outcome[] = [];
    const onOutcome = (outcome: Outcome) => void outcomes.push(outcome);
    for await (const _event of harness.processText('<tool-calls>return 1</tool-calls>', { onOutcome }));
    expect(outcomes.map(valueOf)).toEqual([1]);
  });

  it('answers its end at once if it ends in time', async () => {
    const harness = open();
    const outcome = await harness.runScript('return 1', { yieldAfterMs: 600_000 });
    expect(valueOf(outcome)).toBe(1);
    expect(await harness.waitScript(outcome.scriptId)).toEqual(outcome);
  });

  it('answers suspended when it waits for a decision, and the end after the resume', async () => {
    for (const store of [undefined, memoryStore()]) {
      const effects: Effects = [];
      const { tools, release, arrived } = gate(effects);
      const harness = openOver(store, { tools });
      const scriptId = await yielded(harness, 'await tools.hold({}); return (await tools.note({ text: "a" })).noted');
      await arrived;
      release();
      const waiting = suspended(await harness.waitScript(scriptId));
      expect(waiting.pendingApprovals).toMatchObject([{ tool: 'note', input: { text: 'a' } }]);
      const end = await harness.resume(scriptId, decideAll(waiting, 'approve'));
      expect(valueOf(end)).toBe('a');
      expect(await harness.waitScript(scriptId)).toEqual(end);
      expect(effects).toEqual(['held', 'script: a']);
    }
  });

  it('yields again when it is resumed', async () => {
    const { tools, release, arrived } = gate();
    const harness = open({ tools });
    const waiting = suspended(await harness.runScript('await tools.note({ text: "a" }); return await tools.hold({})'));
    const { scriptId } = waiting;
    const resumed = await harness.resume(scriptId, decideAll(waiting, 'approve'), SOON);
    expect(resumed).toMatchObject({ status: 'running', scriptId });
    await arrived;
    release();
    expect(valueOf(await harness.waitScript(scriptId))).toBe('released');
  });

  it('ends at its time limit', async () => {
    const harness = open({ tools: gate().tools, limits: { timeoutMs: 200 } });
    expect(failureOf(await harness.waitScript(await yielded(harness))).code).toBe('ScriptTimeoutError');
  });

  it('ends when its signal aborts, also after it has yielded', async () => {
    const { tools, arrived } = gate();
    const harness = open({ tools });
    const stop = new AbortController();
    const scriptId = await yielded(harness, HELD, { signal: stop.signal });
    await arrived;
    stop.abort();
    expect(failureOf(await harness.waitScript(scriptId)).code).toBe('ScriptCancelledError');
  });

  it('is cancelled by a signal that was aborted before it started, and a wait with such a signal answers at once', async () => {
    const { tools, release } = gate();
    const harness = open({ tools });
    const aborted = await harness.runScript(HELD, { ...SOON, signal: AbortSignal.abort() });
    expect(failureOf(await harness.waitScript(aborted.scriptId)).code).toBe('ScriptCancelledError');
    const scriptId = await yielded(harness);
    const { status } = await harness.waitScript(scriptId, { signal: AbortSignal.abort() });
    expect(status).toBe('running');
    release();
    expect(valueOf(await harness.waitScript(scriptId))).toBe('released');
  });

  it('is interrupted by the close of its harness, which waits for it, and recovered in another', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const first = gate(effects);
    const closing = openOver(store, { tools: first.tools });
    const scriptId = await yielded(closing, 'await tools.mark({ text: "a" }); return await tools.holdRead({})');
    await first.arrived;
    const waiting = closing.waitScript(scriptId);
    await closing.close();
    expect(failureOf(await waiting).code).toBe('ScriptCancelledError');
    await expect(closing.waitScript(scriptId)).rejects.toMatchObject({ code: 'HARNESS_CLOSED' });
    const second = gate(effects);
    const harness = openOver(store, { tools: second.tools });
    expect(failureOf(await harness.waitScript(scriptId)).code).toBe('ScriptInterruptedError');
    const recovering = await harness.recover(scriptId, SOON);
    expect(recovering).toMatchObject({ status: 'running', scriptId });
    await second.arrived;
    second.release();
    expect(valueOf(await harness.waitScript(scriptId))).toBe('released');
    expect(effects).toEqual(['mark: a', 'held', 'held']);
  });
});

describe('another process', () => {
  it('finds a script as soon as it is reported as running', async () => {
    const store = memoryStore();
    const { tools, release } = gate();
    const [one, other] = [openOver(store, { tools }), openOver(store, { tools })];
    for (let number = 0; number < 5; number++) {
      const scriptId = await yielded(one, `${HELD} // ${number}`);
      expect(await other.waitScript(scriptId, { forMs: 0 })).toMatchObject({ status: 'running', scriptId });
    }
    release();
  });

  it('waits for a script of a store, and gets the same end', async () => {
    const store = memoryStore();
    const { tools, release, arrived } = gate();
    const harness = openOver(store, { tools });
    const source =
      'await tools.read({ size: 3 }); console.log("log"); text("out"); await tools.holdRead({}); return [1]';
    const scriptId = await yielded(harness, source);
    await arrived;
    const other = openOver(store);
    expect(await other.waitScript(scriptId, { forMs: 0 })).toMatchObject({ status: 'running', scriptId });
    const waiting = other.waitScript(scriptId);
    release();
    const end = await harness.waitScript(scriptId);
    expect(valueOf(end)).toEqual([1]);
    expect(await waiting).toEqual(end);
    expect(await openOver(store).waitScript(scriptId)).toEqual(end);
  });

  it('cancels a script: it makes no later call, and everyone gets this end', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const { tools, release, arrived } = gate(effects);
    const harness = openOver(store, { tools });
    const scriptId = await yielded(harness, 'await tools.hold({}); await tools.mark({ text: "never" })');
    await arrived;
    const [end, again] = await Promise.all([
      openOver(store).cancelScript(scriptId),
      openOver(store).cancelScript(scriptId),
    ]);
    expect(failureOf(end)).toMatchObject({ code: 'ScriptCancelledError' });
    expect(end.operations).toMatchObject([{ tool: 'hold', status: 'unknown' }]);
    expect(again).toEqual(end);
    release();
    expect(await harness.waitScript(scriptId)).toEqual(end);
    expect(effects).toEqual(['held']);
  });
});

describe('a cancellation', () => {
  it('ends a script, and is the same for everyone, twice and after the end', async () => {
    for (const store of [undefined, memoryStore()]) {
      const { tools, arrived } = gate();
      const harness = openOver(store, { tools });
      const scriptId = await yielded(harness);
      await arrived;
      const [end, again] = await Promise.all([harness.cancelScript(scriptId), harness.cancelScript(scriptId)]);
      expect(failureOf(end).code).toBe('ScriptCancelledError');
      expect(end.operations).toMatchObject([{ tool: 'hold', status: 'aborted' }]);
      expect(again).toEqual(end);
      expect(await harness.cancelScript(scriptId)).toEqual(end);
      expect(await harness.waitScript(scriptId)).toEqual(end);
      if (store !== undefined) expect(await openOver(store).waitScript(scriptId)).toEqual(end);
    }
  });

  it('leaves a script as it is after its end', async () => {
    const { tools, release, arrived } = gate();
    const harness = open({ tools });
    const scriptId = await yielded(harness);
    await arrived;
    release();
    const end = await harness.waitScript(scriptId);
    expect(await harness.cancelScript(scriptId)).toEqual(end);
  });

  it('ends a suspended script, which nobody can resume', async () => {
    for (const store of [undefined, memoryStore()]) {
      const effects: Effects = [];
      const harness = openOver(store, { effects });
      const waiting = suspended(await harness.runScript('await tools.note({ text: "a" })', { yieldAfterMs: 600_000 }));
      const { scriptId } = waiting;
      const end = await harness.cancelScript(scriptId);
      expect(failureOf(end).code).toBe('ScriptCancelledError');
      expect(end.operations).toMatchObject([{ tool: 'note', status: 'not_started' }]);
      expect(failureOf(await harness.resume(scriptId, {})).code).toBe('SuspensionError');
      expect(failureOf(await harness.resume(waiting.suspension, {})).code).toBe('SuspensionError');
      expect(await harness.waitScript(scriptId)).toEqual(end);
      expect(effects).toEqual([]);
    }
  });
});

describe('a script that cannot be found', () => {
  it('is one of another principal, running, ended or stored', async () => {
    for (const store of [undefined, memoryStore()]) {
      const { tools, release, arrived } = gate();
      const harness = openOver(store, { tools });
      const ann = { principal: 'ann' };
      const scriptId = await yielded(harness, HELD, ann);
      await arrived;
      const refused = async () => {
        for (const principal of ['bob', undefined])
          for (const outcome of [
            await harness.waitScript(scriptId, { principal, forMs: 0 }),
            await harness.cancelScript(scriptId, { principal }),
          ])
            expect(failureOf(outcome)).toMatchObject({ code: 'ScriptNotFoundError' });
      };
      await refused();
      release();
      expect(valueOf(await harness.waitScript(scriptId, ann))).toBe('released');
      await refused();
      if (store !== undefined) expect(valueOf(await openOver(store).waitScript(scriptId, ann))).toBe('released');
    }
  });

  it('has a wrong id', async () => {
    for (const store of [undefined, memoryStore()])
      for (const id of ['scr_none', '', '../x', 'x'.repeat(200)]) {
        const harness = openOver(store);
        const unknown = failureOf(await harness.waitScript(id));
        expect(unknown).toMatchObject({ code: 'ScriptNotFoundError' });
        expect(failureOf(await harness.cancelScript(id))).toEqual(unknown);
      }
    await expect(open().waitScript(7 as never)).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    await expect(open().waitScript('scr_x', { forMs: -1 })).rejects.toMatchObject({ code: 'OPTION_INVALID' });
    await expect(open().runScript('', { yieldAfterMs: 0.5 })).rejects.toMatchObject({ code: 'OPTION_INVALID' });
    await expect(open().cancelScript('scr_x', { forMs: 1 } as never)).rejects.toMatchObject({ code: 'UNKNOWN_OPTION' });
  });

  it('has ended more than 10 minutes ago, or before the last 20 of its principal', async () => {
    const harness = open();
    const run = async (principal: string) =>
      (await harness.runScript('return 1', { principal, yieldAfterMs: 600_000 })).scriptId;
    const codeOf = async (scriptId: string, principal: string) =>
      (await harness.waitScript(scriptId, { principal })).error?.code;
    const oldest = await run('ann');
    const others = [];
    for (let count = 0; count < 20; count++) others.push(await run('ann'));
    const bobs = await run('bob');
    expect(await codeOf(oldest, 'ann')).toBe('ScriptNotFoundError');
    expect(await codeOf(others[0]!, 'ann')).toBeUndefined();
    const now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 590_000);
    onTestFinished(() => clock.mockRestore());
    expect(await codeOf(bobs, 'bob')).toBeUndefined();
    clock.mockReturnValue(now + 601_000);
    expect(await codeOf(bobs, 'bob')).toBe('ScriptNotFoundError');
  });
});

it('a script without yieldAfterMs gets no timer', async () => {
  const harness = createHarness({ tools: [], suspensionKey: KEY, typecheck: 'off', ...sharedThreads() });
  onTestFinished(() => harness.close());
  const start = setTimeout;
  const stacks: string[] = [];
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((...of: Parameters<typeof setTimeout>) => {
    stacks.push(new Error('a timer').stack!);
    return start(...of);
  }) as typeof setTimeout);
  onTestFinished(() => timers.mockRestore());
  // Other scripts of this process have timers of their own.
  const timersOfYields = () => stacks.filter((stack) => stack.includes('running-scripts')).length;
  const { scriptId } = await harness.runScript('return 1');
  expect(timersOfYields()).toBe(0);
  expect((await harness.waitScript(scriptId)).error?.code).toBe('ScriptNotFoundError');
  await harness.runScript('return 1', { yieldAfterMs: 60_000 });
  expect(timersOfYields()).toBeGreaterThan(0);
});
