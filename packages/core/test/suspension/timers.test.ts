import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileStore, memoryStore } from '#core/index.js';
import { decideAll, failureOf, keepCopy, open, suspended, tapeOnly, valueOf, type Effects } from './world.js';
import { withEnoughTime } from '@toolscript/testkit/enough-time';

describe('a script with timers', () => {
  it('is suspended at once if its timers were cleared', async () => {
    const source = `
      const timer = setTimeout(() => {}, 3_600_000);
      const ticks = setInterval(() => {}, 3_600_000);
      clearTimeout(timer); clearInterval(ticks);
      return (await tools.note({ text: 'asked' })).noted;`;
    const outcome = suspended(await open().runScript(source));
    expect(valueOf(await open().resume(outcome.suspension, decideAll(outcome, 'approve')))).toBe('asked');
  });

  it.each([
    ['a sleep', 'const late = sleep(3_000_000).then(() => "late")'],
    ['a timer', 'const late = new Promise((resolve) => setTimeout(resolve, 3_000_000, "late"))'],
    [
      'a guard',
      'let timer; const late = new Promise((_, reject) => { timer = setTimeout(reject, 3_000_000, "late"); })',
    ],
    ['an interval', 'setInterval(() => {}, 1); const late = new Promise(() => {})'],
  ])('is suspended while %s is pending', async (_, timer) => {
    const source = `${timer}; return (await Promise.race([tools.note({ text: 'asked' }), late])).noted`;
    const outcome = suspended(await open().runScript(source));
    expect(valueOf(await open().resume(outcome.suspension, decideAll(outcome, 'approve')))).toBe('asked');
  });

  it.each(['its memory', 'its tape'])('continues with their remaining time, from %s', async (from) => {
    const host = () => (from === 'its tape' ? { runtime: tapeOnly() } : {});
    const source = `
      const seen = [];
      const later = new Promise((resolve) => setTimeout(() => { seen.push('first'); resolve(); }, 60));
      setTimeout(() => seen.push('second'), 120);
      const slept = sleep(180).then(() => seen.push('third'));
      const { noted } = await tools.note({ text: 'asked' });
      await later;
      const first = Date.now();
      await slept;
      return [noted, ...seen, Date.now() - first < 60_000];`;
    const outcome = suspended(await open(host()).runScript(source));
    const again = suspended(await open(host()).resume(outcome.suspension, {}));
    expect(valueOf(await open(host()).resume(again.suspension, decideAll(again, 'approve')))).toEqual([
      'asked',
      'first',
      'second',
      'third',
      true,
    ]);
  });

  it('gets a warning about one that never fires after its resume', async () => {
    const source = `
      const one = 1;
      setTimeout(() => tools.mark({ text: 'never' }), 3_000_000);
      return await tools.note({ text: 'asked' });`;
    const outcome = suspended(await open().runScript(source));
    const done = await open().resume(outcome.suspension, decideAll(outcome, 'approve'));
    expect(done.diagnostics).toEqual([expect.objectContaining({ code: 'pending-timer', line: 3 })]);
  });

  it('runs no longer than its wall clock allows after its resume', async () => {
    const source = `const slept = sleep(3_000_000); await tools.note({ text: 'asked' }); await slept;`;
    const outcome = suspended(
      await withEnoughTime(
        400,
        (timeoutMs) => open({ limits: { timeoutMs } }).runScript(source),
        ({ status }) => status === 'suspended',
      ),
    );
    const done = await open().resume(outcome.suspension, decideAll(outcome, 'approve'));
    expect(failureOf(done)).toMatchObject({ code: 'ScriptTimeoutError', metadata: { clock: 'wall' } });
  });

  it('continues from a file store if it was decided before its recovery', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolscript-timers-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = fileStore(folder);
    const source = `
      const ticks = setInterval(() => tools.mark({ text: 'tick' }), 30);
      const slept = sleep(70);
      const { noted } = await tools.note({ text: 'asked' });
      await slept;
      clearInterval(ticks);
      return noted;`;
    const effects: Effects = [];
    const { scriptId, ...outcome } = suspended(await open({ store, effects }).runScript(source));
    await open({ store }).decide(scriptId, decideAll({ scriptId, ...outcome }, 'approve'));
    expect(valueOf(await open({ store, effects }).recover(scriptId))).toBe('asked');
    expect(effects).toEqual(expect.arrayContaining(['script: asked', 'mark: tick']));
    expect(valueOf(await open({ store }).replay(scriptId))).toBe('asked');
  });

  it('is suspended after suspendAfterMs even if an interval fires repeatedly', async () => {
    const harness = open({ approvals: () => new Promise(() => {}), suspendAfterMs: 60 });
    const outcome = suspended(
      await harness.runScript(`setInterval(() => {}, 5); return (await tools.note({ text: 'asked' })).noted`),
    );
    expect(valueOf(await open().resume(outcome.suspension, decideAll(outcome, 'approve')))).toBe('asked');
  });

  it('can set and clear them after a resume', async () => {
    const source = `
      const seen = [];
      const before = setTimeout(() => seen.push('before'), 1);
      await tools.note({ text: 'asked' });
      const after = setTimeout(() => seen.push('after'), 1);
      clearTimeout(setTimeout(() => seen.push('never'), 1));
      await new Promise((resolve) => setTimeout(resolve, 20));
      return [...seen, after > before];`;
    const outcome = suspended(await open().runScript(source));
    expect(valueOf(await open().resume(outcome.suspension, decideAll(outcome, 'approve')))).toEqual([
      'before',
      'after',
      true,
    ]);
  });

  it('is repeated by a replay, callback by callback', async () => {
    const source = `
      const seen = [];
      setTimeout(() => seen.push('late', Date.now()), 30);
      setTimeout(() => seen.push('soon', Date.now()), 5);
      const ticks = setInterval(() => seen.push('tick', Date.now()), 7);
      clearTimeout(setTimeout(() => seen.push('never'), 10));
      await sleep(45);
      clearInterval(ticks);
      const end = await tools.mark({ text: 'end' }).catch((error) => error.data.status);
      return { seen, end };`;
    const store = memoryStore();
    const lines: string[] = [];
    const append = store.journal.append.bind(store.journal);
    store.journal.append = (id, epoch, written, options) => {
      lines.push(...written);
      return append(id, epoch, written, options);
    };
    const first = await open({ store }).runScript(source);
    const { seen } = valueOf(first) as { seen: unknown[] };
    expect(seen).toEqual(expect.arrayContaining(['soon', 'tick', 'late']));
    const intent = lines.findIndex((line) => line.includes('"t":"intent"'));
    const copy = await keepCopy(memoryStore(), first.scriptId, { lines: lines.slice(0, intent + 1) });
    const again = await open({ store: copy }).recover(first.scriptId);
    expect(valueOf(again)).toEqual({ seen, end: 'unknown' });
  });
});
