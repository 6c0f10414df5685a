import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHarness, fileStore, listScripts } from '@toolscript/core';
import type { HarnessStore } from '@toolscript/core/protocol';
import { newFolder } from '@toolscript/testkit/folder';
import { describeWithPostgres, newSchemaUrl } from '../stores/postgres/support/test-postgres.js';
import { openProgramStore } from './support/program-store.mjs';

const PROGRAM = fileURLToPath(new URL('support/program-worker.mjs', import.meta.url));
/** A long campaign: `TOOLSCRIPT_PROGRAM_KILLS=800 TOOLSCRIPT_PROGRAM_THREADS=200 TOOLSCRIPT_PROGRAM_SEED=7 npm run test:slow -- packages/service/test/programs`. */
const KILLS = Number(process.env['TOOLSCRIPT_PROGRAM_KILLS'] ?? (process.env['CI'] === undefined ? 8 : 16));
const SEED = Number(process.env['TOOLSCRIPT_PROGRAM_SEED'] ?? 42);
const TIMEOUT_MS = 120_000 + KILLS * 15_000;

/** The end of a script, as its conversation names it. */
interface Item {
  readonly scriptId: string;
  readonly thread: string;
  /** The heap in which the script started. Undefined: another process ended the script, or it began a program. */
  readonly from?: string;
  /** The ids of all scripts whose changes the script saw, with its own. */
  readonly trail: string;
  readonly heap?: string;
  readonly codes: readonly string[];
  readonly effects: readonly string[];
}

describe('programs whose processes are killed at random', () => {
  it('over files', () => campaign('files:'), TIMEOUT_MS);
  it('over libSQL', () => campaign(`libsql:${newFolder()}/heaps.db`), TIMEOUT_MS);
});
describeWithPostgres('programs whose processes are killed at random', () => {
  it('over PostgreSQL', async () => campaign(await newSchemaUrl()), TIMEOUT_MS);
});

/** Kills two processes in turn, lets a last one end what is left, and checks what conversations and stores say. */
async function campaign(url: string): Promise<void> {
  const folder = newFolder();
  let seed = SEED;
  const random = (limit: number) => (seed = (seed * 48_271) % 2_147_483_647) % limit;
  await Promise.all([0, 1].map(() => killedInTurn(folder, url, random)));
  await worked(folder, url, 1 + random(1e9), 0);
  const { store, close } = (await openProgramStore(folder, url, fileStore)) as {
    store: HarnessStore;
    close(): Promise<void>;
  };
  onTestFinished(close);
  const unended = (await listScripts(store)).filter(({ state }) => state !== 'ended');
  expect(unended.map(({ state }) => state)).toEqual([]);
  const items = itemsIn(folder);
  expect(items.length).toBeGreaterThan(KILLS);
  checkEffects(folder, items);
  checkTrails(items);
  await checkHeaps(store, items);
}

async function killedInTurn(folder: string, url: string, random: (limit: number) => number): Promise<void> {
  for (let kill = 0; kill < KILLS / 2; kill += 1)
    await worked(folder, url, 1 + random(1e9), 1_000, { scripts: 1 + random(12), ms: random(60) });
}

/** Runs a process until its end, or kills it so many ms after so many scripts. */
async function worked(
  folder: string,
  url: string,
  seed: number,
  count: number,
  killed?: { readonly scripts: number; readonly ms: number },
): Promise<void> {
  const child = fork(PROGRAM, [folder, url, `${seed}`, `${count}`], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  if (killed === undefined) return void expect(await closed).toEqual([0, null]);
  for (let ended = 0; ended < killed.scripts;) {
    const [points] = (await Promise.race([once(child.stdout!, 'data'), closed])) as unknown[];
    expect(points, 'the process has ended by itself').toBeInstanceOf(Buffer);
    ended += (points as Buffer).length;
  }
  await Promise.race([delay(killed.ms), closed]);
  child.kill('SIGKILL');
  expect(await closed).toEqual([null, 'SIGKILL']);
}

function linesOf(path: string): unknown[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as unknown);
}

/** The items in the order of their ends. All readers of the end of a script got the same end. */
function itemsIn(folder: string): readonly Item[] {
  const items = new Map<string, Item>();
  for (const item of linesOf(join(folder, 'items.jsonl')) as Item[]) {
    const first = items.get(item.scriptId);
    if (first !== undefined) expect([item.trail, item.heap]).toEqual([first.trail, first.heap]);
    else items.set(item.scriptId, item);
  }
  return [...items.values()];
}

function checkEffects(folder: string, items: readonly Item[]): void {
  const effects = linesOf(join(folder, 'effects.jsonl')) as string[];
  expect(effects.length).toBeGreaterThan(0);
  expect(new Set(effects).size, 'an effect was repeated').toBe(effects.length);
  for (const id of items.flatMap((item) => item.effects)) expect(effects).toContain(id);
}

const isKept = ({ codes, heap }: Item) => codes.length === 0 && heap !== undefined;

/** No script sees the change of a script twice, and each sees all changes of the heap in which it started. */
function checkTrails(items: readonly Item[]): void {
  const byHeap = new Map(items.filter(isKept).map((item) => [item.heap!, item]));
  expect(byHeap.size).toBeGreaterThan(0);
  for (const { trail, from } of items) {
    const seen = trail.split(',');
    expect(new Set(seen).size).toBe(seen.length);
    const before = from === undefined ? undefined : byHeap.get(from);
    if (before !== undefined) expect(seen.slice(0, -1).join(',')).toBe(before.trail);
  }
}

/** Each heap is that of its item, and the newest heap of a conversation has each change that its items report as kept. */
async function checkHeaps(store: HarnessStore, items: readonly Item[]): Promise<void> {
  const options = { store, suspensionKey: 'k'.repeat(32), typecheck: 'off', scripts: 'one-program' } as const;
  const harness = createHarness({ tools: [], ...options });
  onTestFinished(() => harness.close());
  const trailIn = async (heap: string) => {
    const outcome = await harness.runScript('return trail.join()', { heap, program: 'own' });
    return outcome.value ?? outcome.error?.message;
  };
  for (const item of items.filter(isKept)) expect(await trailIn(item.heap!)).toBe(item.trail);
  for (const thread of new Set(items.map((item) => item.thread))) {
    const newest = await store.heaps!.newest('', thread);
    const seen = newest === undefined ? [] : String(await trailIn(newest.heapId)).split(',');
    const kept = items.filter((item) => item.thread === thread && isKept(item));
    for (const { trail } of kept) expect(seen, 'a change was lost without a word').toContain(trail.split(',').at(-1));
  }
}
