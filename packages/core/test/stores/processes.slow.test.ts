import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileStore, type FileStoreOptions } from '#core/stores/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { unusedPath } from '@toolscript/testkit/folder';

const PROGRAM = fileURLToPath(new URL('support/store-process.mjs', import.meta.url));
const isLinux = process.platform === 'linux';

const HOLDER = { owner: 'a test', leaseMs: 60_000 };

/** A process that is killed at the end of the test if it is still alive. */
function startProcess(...parameters: string[]): ChildProcess {
  const child = fork(PROGRAM, parameters, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** The output of a process that kills itself. */
async function lastWords(child: ChildProcess): Promise<string[]> {
  let said = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (said += text));
  expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
  return said.split('\n').slice(0, -1);
}

const EPOCHS = tries(50);
const KILLS = tries(25, 8);
const CHURNS = tries(12, 5);

describe('claims between processes', () => {
  it(`exactly one of three processes wins each of ${EPOCHS} epochs`, async () => {
    const folder = unusedPath();
    const children = Array.from({ length: 4 }, () => startProcess('race', folder, 'scr_race'));
    await Promise.all(children.map((child) => once(child, 'message')));
    let racing = children;
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      const answers = racing.map((child) => once(child, 'message'));
      for (const child of racing) child.send(epoch);
      const wins = (await Promise.all(answers)).map(([isTaken]) => isTaken as boolean);
      expect(wins.filter(Boolean)).toEqual([true]);
      // The winner pauses, so that the next epoch has another one.
      const winner = racing[wins.indexOf(true)];
      racing = children.filter((child) => child !== winner);
    }
    const store = fileStore(folder);
    expect(await store.claim.current('scr_race')).toMatchObject({ epoch: EPOCHS, isHeld: true });
    const lines = (await store.journal.read('scr_race'))?.lines;
    expect(lines?.map((line) => Number.parseInt(line, 10))).toEqual(
      Array.from({ length: EPOCHS }, (_, index) => index + 1),
    );
    const winners = new Set(lines?.map((line) => line.split(' by ')[1]));
    expect(winners.size).toBeGreaterThan(1);
  });

  it('a claim is held while its process is alive, and not after it was killed', async () => {
    const folder = unusedPath();
    const { claim } = fileStore(folder);
    const child = startProcess('hold', folder, 'scr_held');
    await once(child.stdout!, 'data');
    expect(await claim.current('scr_held')).toMatchObject({ epoch: 1, isHeld: true });
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    expect(await claim.current('scr_held')).toMatchObject({ epoch: 1, isHeld: false });
    expect((await claim.take('scr_held', 1, HOLDER))?.epoch).toBe(2);
  });

  it.runIf(isLinux)('a zombie process holds nothing', async () => {
    const folder = unusedPath();
    const { claim } = fileStore(folder);
    // The shell becomes a program that does not wait for its children.
    const command = '"$0" "$1" hold "$2" scr_zombie & exec sleep 60';
    const parent = spawn('sh', ['-c', command, process.execPath, PROGRAM, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [pid] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string];
    expect(await claim.current('scr_zombie')).toMatchObject({ epoch: 1, isHeld: true });
    process.kill(Number(pid), 'SIGKILL');
    await expect.poll(() => readFileSync(`/proc/${Number(pid)}/stat`, 'latin1')).toContain(') Z ');
    expect(await claim.current('scr_zombie')).toMatchObject({ epoch: 1, isHeld: false });
  });

  it.runIf(isLinux)('an ended process holds nothing, and a live one holds beyond its lease', async () => {
    const { folder, claim, isHeldBy, own } = await claimed();
    expect(own).toMatchObject({ pid: process.pid, startTime: expect.stringMatching(/^\d+$/u) });
    expect(await isHeldBy(own)).toBe(true);
    expect(await isHeldBy({ ...own, leaseMs: 1 })).toBe(true);
    const other = { ...own, instance: 'another' };
    expect(await isHeldBy({ ...other, leaseMs: 1 })).toBe(true);
    for (const change of [{ startTime: '1' }, { pid: 2 ** 22 + 1 }])
      expect(await isHeldBy({ ...other, ...change }), JSON.stringify(change)).toBe(false);
    expect((await claim.take('scr_a', 1, HOLDER))?.epoch).toBe(2);
    expect((await fileStore(folder).claim.current('scr_a'))?.isHeld).toBe(true);
  });

  it.runIf(isLinux)(
    'an unobservable process holds only until its lease expires: another machine, boot or PID namespace',
    async () => {
      const { claim, isHeldBy, own } = await claimed();
      const strange = [
        { hostname: 'elsewhere', bootId: 'other' },
        { bootId: 'other' },
        { pidNamespace: '1' },
        { pidNamespace: undefined },
        { startTime: undefined },
      ];
      for (const change of strange) {
        // Another process on this machine may have the number; neither case matters.
        for (const pid of [process.pid, 2 ** 22 + 1]) {
          const holder = { ...own, instance: 'another', pid, ...change };
          expect(await isHeldBy(holder), JSON.stringify(change)).toBe(true);
          expect(await isHeldBy({ ...holder, leaseMs: 1 }), JSON.stringify(change)).toBe(false);
        }
      }
      await isHeldBy({ ...own, instance: 'another', hostname: 'elsewhere', bootId: 'other' });
      expect(await claim.take('scr_a', 1, HOLDER)).toBe(undefined);
      await claim.release('scr_a', 1);
      expect((await claim.take('scr_a', 1, HOLDER))?.epoch).toBe(2);
    },
  );

  it('an unreadable claim is held for half a minute, because a process may be writing it', async () => {
    const { folder, isHeldBy } = await claimed();
    for (const content of ['', '\0\0\0', '{"pid":', 'null', '[]', '{}']) {
      expect(await isHeldBy(content)).toBe(true);
      const then = Date.now() / 1_000 - 40;
      utimesSync(join(folder, 'claims/scr_a/1'), then, then);
      expect((await fileStore(folder).claim.current('scr_a'))?.isHeld).toBe(false);
    }
  });

  it('a claim from the future is not held, because a clock was changed', async () => {
    const { folder, claim } = await claimed({ knowsProcesses: false });
    const then = Date.now() / 1_000 + 3_600;
    utimesSync(join(folder, 'claims/scr_a/1'), then, then);
    expect((await claim.current('scr_a'))?.isHeld).toBe(false);
  });
});

/** A claimed script, and the content of its claim. */
async function claimed(options: FileStoreOptions = {}) {
  const folder = unusedPath();
  const { claim } = fileStore(folder, options);
  await claim.take('scr_a', 0, HOLDER);
  const path = join(folder, 'claims/scr_a/1');
  const [head = '', json = ''] = readFileSync(path, 'utf8').split('\n');
  const isHeldBy = async (holder: unknown): Promise<boolean | undefined> => {
    writeFileSync(path, typeof holder === 'string' ? holder : `${head}\n${JSON.stringify(holder)}`);
    await delay(3);
    return (await claim.current('scr_a'))?.isHeld;
  };
  return { folder, claim, isHeldBy, own: JSON.parse(json) as Record<string, unknown> };
}

describe('processes that are killed', () => {
  it(`every acknowledged line is present after each of ${KILLS} kills, complete and in order`, async () => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    let before = 0;
    for (let epoch = 1; epoch <= KILLS; epoch++) {
      const said = await lastWords(startProcess('append', folder, 'scr_a', `${Math.random() * 30}`));
      const acknowledged = Number(said.at(-1));
      const lines = (await journal.read('scr_a'))?.lines ?? [];
      expect(acknowledged).toBeGreaterThan(before);
      // The last append may have been completed without an acknowledgement, but never in part.
      expect([acknowledged, acknowledged + 1 + (acknowledged % 4)]).toContain(lines.length);
      const isWhole = lines.every(
        (line, index) => line === `${index} ${'é'.repeat(index % 101 === 0 ? 150_000 : index % 50)}`,
      );
      expect(isWhole).toBe(true);
      expect(await claim.current('scr_a')).toMatchObject({ epoch, isHeld: false });
      before = lines.length;
    }
  });

  it('the scripts of a process that was killed in any operation can be claimed, read and deleted', async () => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    let seen = 0;
    for (let round = 0; round < CHURNS; round++) {
      const said = await lastWords(startProcess('churn', folder, '', `${Math.random() * 60}`));
      for (const scriptId of said) {
        const found = await claim.current(scriptId);
        expect(found?.isHeld ?? false).toBe(false);
        const lines = (await journal.read(scriptId))?.lines ?? [];
        expect(['', 'one,two', 'one,two,three']).toContain(lines.join());
        const epoch = found?.epoch ?? 0;
        expect((await claim.take(scriptId, epoch, HOLDER))?.epoch).toBe(epoch + 1);
        await journal.append(scriptId, epoch + 1, ['after']);
        expect(await journal.read(scriptId)).toEqual({
          lines: [...lines, 'after'],
          slot: undefined,
          damage: undefined,
        });
        await journal.delete(scriptId);
        seen++;
      }
      expect((await journal.list()).scripts).toEqual([]);
    }
    expect(seen).toBeGreaterThanOrEqual(CHURNS);
  });
});
