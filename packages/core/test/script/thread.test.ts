import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CompileThread, STACK_MB } from '#core/script/compile/compile-thread.js';

/** A thread that answers with its number, and acts as the source requests. */
const ENTRY = `
import { spawnSync } from 'node:child_process';
import { parentPort, resourceLimits, threadId } from 'node:worker_threads';
parentPort.on('message', ({ source }) => {
  if (source === 'die') process.exit(3);
  if (source === 'throw') setImmediate(() => { throw new Error('inside'); });
  else if (source === 'spin') for (;;);
  else if (source === 'stuck') spawnSync('sleep', ['4']);
  else if (source === 'broken') parentPort.postMessage({ type: 'broken', detail: 'why' });
  else if (source === 'memory') { const all = []; for (;;) all.push(new Array(1e5).fill({})); }
  else parentPort.postMessage({ type: 'answer', answer: { threadId, source, env: Object.keys(process.env), argv: process.argv.slice(2), resourceLimits } });
});
parentPort.postMessage({ type: 'ready' });
`;

let folder: string;
let entry: URL;
const open: CompileThread[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compile-thread-'));
  await writeFile(join(folder, 'entry.mjs'), ENTRY);
  entry = pathToFileURL(join(folder, 'entry.mjs'));
});

afterAll(async () => {
  await Promise.all(open.map((thread) => thread.close()));
  await rm(folder, { recursive: true, force: true });
});

function fresh(deadlineMs = 60_000, url = entry): CompileThread {
  const thread = new CompileThread({ entry: url, deadlineMs });
  open.push(thread);
  return thread;
}

const ask = (thread: CompileThread, source: string, waitMs = 60_000) =>
  thread.run({ source, toolNames: undefined, wantsFacts: false }, { principal: undefined, waitMs });

describe('the compile thread', () => {
  it.each([
    ['die', 'broken'],
    ['throw', 'broken'],
    ['memory', 'memory'],
  ])('fails only the job that killed it, and the queue continues: %s', async (how, type) => {
    const thread = fresh();
    const results = await Promise.all(['a', how, 'b', 'c'].map((source) => ask(thread, source)));
    expect(results.map((result) => result.type)).toEqual(['answer', type, 'answer', 'answer']);
    expect(thread.restarts).toBe(1);
  });

  it('does not count its start as a wait of its first job', async () => {
    expect(await ask(fresh(), 'a', 0)).toMatchObject({ type: 'answer' });
  });

  it('abandons a job that misses its deadline, and the queue continues', async () => {
    const thread = fresh(1_500);
    await thread.warm();
    const results = await Promise.all(['spin', 'a', 'spin', 'b'].map((source) => ask(thread, source)));
    expect(results.map(({ type }) => type)).toEqual(['deadline', 'answer', 'deadline', 'answer']);
    expect(thread.restarts).toBe(2);
  });

  it('rejects jobs while too many threads are stuck in native code, and accepts them again afterwards', async () => {
    const thread = fresh(50);
    const results = await Promise.all(['stuck', 'stuck', 'stuck', 'a'].map((source) => ask(thread, source)));
    expect(results.map(({ type }) => type)).toEqual(['deadline', 'deadline', 'deadline', 'busy']);
    await expect.poll(async () => (await ask(thread, 'b')).type, { interval: 200 }).toBe('answer');
  });

  it('continues in the same thread after a faulty job', async () => {
    const thread = fresh();
    const [broken, answer] = await Promise.all([ask(thread, 'broken'), ask(thread, 'a')]);
    expect(broken).toEqual({ type: 'broken', detail: 'why' });
    expect(answer.type).toBe('answer');
    expect(thread.restarts).toBe(0);
  });

  it('answers every job if it cannot start, and retries with the next', async () => {
    const thread = fresh(1000, pathToFileURL(join(folder, 'missing.mjs')));
    const results = await Promise.all([ask(thread, 'a'), ask(thread, 'b')]);
    expect(results.map(({ type }) => type)).toEqual(['broken', 'broken']);
    expect((await ask(thread, 'c')).type).toBe('broken');
    await thread.warm();
  });

  it('inherits neither environment nor arguments', async () => {
    const result = await ask(fresh(), 'a');
    expect(result).toMatchObject({ type: 'answer', answer: { env: [], argv: [] } });
  });

  it('has limits for its stack and its heap', async () => {
    expect(await ask(fresh(), 'a')).toMatchObject({
      type: 'answer',
      answer: { resourceLimits: { stackSizeMb: STACK_MB, maxOldGenerationSizeMb: 256 } },
    });
  });

  it('answers running and waiting jobs when it is closed', async () => {
    const thread = fresh();
    await thread.warm();
    const results = [ask(thread, 'spin'), ask(thread, 'a')];
    await thread.close();
    expect(await Promise.all(results)).toEqual([{ type: 'closed' }, { type: 'closed' }]);
    expect(await ask(thread, 'b')).toEqual({ type: 'closed' });
  });
});
