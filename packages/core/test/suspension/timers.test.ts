import { describe, expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import { decideAll, keepCopy, open, suspended, valueOf } from './world.js';

describe('a script with timers', () => {
  it('is suspended at once where its timers were cleared', async () => {
    const source = `
      const timer = setTimeout(() => {}, 3_600_000);
      const ticks = setInterval(() => {}, 3_600_000);
      clearTimeout(timer); clearInterval(ticks);
      return (await tools.note({ text: 'asked' })).noted;`;
    const outcome = suspended(await open().runScript(source));
    expect(valueOf(await open().resume(outcome.suspension, decideAll(outcome, 'approve')))).toBe('asked');
  });

  it('is suspended when the last of them has fired', async () => {
    const source = `
      let fired = false;
      setTimeout(() => { fired = true; }, 20);
      return [(await tools.note({ text: 'asked' })).noted, fired];`;
    const outcome = suspended(await open().runScript(source));
    expect(valueOf(await open().resume(outcome.suspension, decideAll(outcome, 'approve')))).toEqual(['asked', true]);
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
