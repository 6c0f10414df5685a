import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTool, memoryStore, QuickJsPool } from '#core/index.js';
import type { HarnessStore } from '#core/protocol/index.js';
import { decideAll, failureOf, HOLDER, open, suspended, tapeOnly, valueOf, type Effects } from './world.js';

const release = new URL('earlier-release/', import.meta.url);
const readRelease = (name: string) => readFileSync(new URL(name, release));

async function storeWithRelease(): Promise<HarnessStore> {
  const store = memoryStore();
  for (const name of ['engine.wasm.gz', 'execute.image.gz']) {
    const bytes = gunzipSync(readRelease(name));
    await store.images.put(createHash('sha256').update(bytes).digest('hex'), bytes);
  }
  const { scriptId } = JSON.parse(readRelease('suspension.json').toString()) as { scriptId: string };
  await store.claim.take(scriptId, 0, HOLDER);
  await store.claim.release(scriptId, 1);
  return store;
}

function toolOfNow(name: string, approval: 'always' | 'never') {
  return defineTool({
    name,
    description: name,
    input: z.looseObject({}),
    effect: 'external',
    approval,
    execute: (input) => ({ ...input, by: 'the release of now' }),
  });
}

describe('a script that an earlier release suspended', () => {
  it('continues with its own engine and guest, and with the current tools', async () => {
    const store = await storeWithRelease();
    const tools = [toolOfNow('ask', 'always'), toolOfNow('mark', 'never'), toolOfNow('newSince', 'never')];
    const harness = open({ tools, store });
    const suspension = readRelease('suspension.json').toString();
    // Nobody has decided. Both calls are still pending, but the tool of one call no longer exists.
    const looked = suspended(await harness.resume(suspension));
    expect(looked.pendingApprovals).toMatchObject([{ tool: 'ask', input: { n: 2 } }]);
    const done = await harness.resume(looked.suspension, decideAll(looked, 'approve'));
    expect(valueOf(done)).toMatchObject({
      marked: 'the release of then',
      asked: 'the release of now',
      gone: 'ToolNotFoundError',
      coins: 2,
      kept: 'kept',
      says: 'this guest has a function that later ones do not',
    });
    const { chance, next } = valueOf(done) as { chance: number; next: number };
    expect(chance).not.toBe(next);
    expect(harness.stats().sandbox.running).toBe(0);
    expect(valueOf(await harness.runScript('return typeof Math.fromAnEarlierRelease'))).toBe('undefined');
  });

  it('whose engine is no longer stored is replayed along its tape, as far as this release supports it', async () => {
    const store = await storeWithRelease();
    for (const name of await store.images.list()) await store.images.delete(name);
    const tools = [toolOfNow('ask', 'always'), toolOfNow('mark', 'never')];
    const details: string[] = [];
    const harness = open({ tools, store, workers: { size: 1 }, onInternalError: (detail) => details.push(detail) });
    const looked = suspended(await harness.resume(readRelease('suspension.json').toString()));
    const done = await harness.resume(looked.suspension, decideAll(looked, 'approve'));
    expect(failureOf(done)).toMatchObject({
      code: 'ScriptRuntimeError',
      message: 'TypeError: not a function',
      line: 11,
    });
    expect(details).toEqual([expect.stringContaining('is not stored')]);
  });
});

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
    const harness = open({ effects, runtime: new QuickJsPool({ size: 1 }, entry), approvals: 'auto' });
    await harness.warm();
    const body = (name: number) => `const out = [];
      for (let i = 0; i < 8; i++) { out.push(await tools.mark({ text: '${name}.' + i })); if (i === 3) await sleep(400); }
      return out.length`;
    const five = [1, 2, 3, 4, 5].map((name) => harness.runScript(body(name)));
    // Waits for the pause between their effects, because the planted fault detects no messages in quick succession.
    await vi.waitFor(() => expect(effects).toHaveLength(20), { timeout: 10_000, interval: 5 });
    await delay(50);
    const hung = harness.runScript('console.log("FAULT_HANG"); return await tools.read({})', {
      limits: { timeoutMs: 100 },
    });
    expect((await Promise.all(five)).map(valueOf)).toEqual([8, 8, 8, 8, 8]);
    expect(failureOf(await hung).code).toBe('ScriptTimeoutError');
    expect(effects).toHaveLength(40);
    expect(new Set(effects).size).toBe(40);
    expect(harness.stats().sandbox.workersReplaced).toBe(1);
  });
});
