import { describe, expect, it } from 'vitest';
import { defineTool } from '#core/index.js';
import { QuickJsPool } from '#core/sandbox/index.js';
import { decideAll, failureOf, open, suspended, tapeOnly, tools, valueOf, type Effects } from './world.js';

describe('the tape', () => {
  const SOURCE = `
    console.log('once');
    const chance = Math.random(); const when = Date.now();
    const [a, b] = await Promise.all([tools.mark({ text: 'a' }), tools.read({})]);
    await sleep(5);
    const noted = await tools.note({ text: String(chance) });
    console.log('at the end');
    return [a, b, noted.noted === String(chance), Date.now() >= when];`;

  it('leads to the same state if nothing could be captured', async () => {
    const effects: Effects = [];
    const first = suspended(await open({ effects, runtime: tapeOnly() }).runScript(SOURCE));
    expect(effects).toEqual(['mark: a']);
    const done = await open({ effects, runtime: tapeOnly() }).resume(first.suspension, decideAll(first, 'approve'));
    expect(valueOf(done)).toEqual(['a', 'x', true, true]);
    expect(effects).toHaveLength(2);
    expect(done.logs.map(({ text }) => text)).toEqual(['once', 'at the end']);
    const captured = suspended(await open({ effects }).runScript(SOURCE));
    const other = await open({ effects, runtime: tapeOnly() }).resume(
      captured.suspension,
      decideAll(captured, 'approve'),
    );
    expect(valueOf(other)).toEqual(['a', 'x', true, true]);
  });

  it('is followed without a fault by a runtime that can restore a memory', async () => {
    const first = suspended(await open({ runtime: tapeOnly() }).runScript(SOURCE));
    const faults: string[] = [];
    const able = open({ onInternalError: (detail) => faults.push(detail) });
    expect(valueOf(await able.resume(first.suspension, decideAll(first, 'approve')))).toEqual(['a', 'x', true, true]);
    expect(faults).toEqual([]);
  });

  it('that a replay does not follow ends the script with a report of completed and missing calls', async () => {
    const effects: Effects = [];
    const first = suspended(await open({ effects }).runScript(SOURCE));
    const details: string[] = [];
    const astray = open({ effects, runtime: tapeOnly(true), onInternalError: (detail) => details.push(detail) });
    const done = await astray.resume(first.suspension, decideAll(first, 'approve'));
    expect(failureOf(done).code).toBe('SuspensionError');
    expect(done.operations.map(({ tool, status }) => [tool, status])).toEqual([
      ['mark', 'completed'],
      ['read', 'completed'],
      ['note', 'not_started'],
    ]);
    expect(details).toEqual([expect.stringContaining('it made different calls')]);
    expect(effects).toEqual(['mark: a']);
  });
});

describe('a worker that is ended under five scripts with effects', () => {
  it('loses none of them and repeats nothing', async () => {
    const effects: Effects = [];
    const entry = new URL('../sandbox/support/faulty-entry.mjs', import.meta.url);
    let paused = 0;
    let goOn = () => {};
    const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
    const pause = defineTool({
      name: 'pause',
      description: 'Ends when the test says so',
      effect: 'read',
      approval: 'never',
      execute: () => {
        paused += 1;
        return mayGoOn;
      },
    });
    const runtime = new QuickJsPool({ size: 1 }, entry);
    const harness = open({ effects, tools: [...tools(effects), pause], runtime, approvals: 'auto' });
    await harness.warm();
    const body = (name: number) => `const out = [];
      for (let i = 0; i < 8; i++) { out.push(await tools.mark({ text: '${name}.' + i })); if (i === 3) await tools.pause(); }
      return out.length`;
    const five = [1, 2, 3, 4, 5].map((name) => harness.runScript(body(name)));
    // Waits for the pause between their effects, because the planted fault detects no messages in quick succession.
    await expect.poll(() => paused).toBe(5);
    const hung = harness.runScript('console.log("FAULT_HANG"); return await tools.read({})', {
      limits: { timeoutMs: 100 },
    });
    expect(failureOf(await hung).code).toBe('ScriptTimeoutError');
    goOn();
    expect((await Promise.all(five)).map(valueOf)).toEqual([8, 8, 8, 8, 8]);
    expect(effects).toHaveLength(40);
    expect(new Set(effects).size).toBe(40);
    expect(harness.stats().sandbox.workersReplaced).toBe(1);
  });
});
