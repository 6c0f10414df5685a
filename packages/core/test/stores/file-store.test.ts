import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fileStore } from '#core/stores/index.js';
import { identityMark, ownIdentity } from '#core/durable-files/process-identity.js';
import { files } from '#core/durable-files/private-folder.js';
import type { HarnessStore } from '#core/protocol/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { unusedPath } from '@toolscript/testkit/folder';

const IMAGE = new Uint8Array(100_000).fill(1, 5, 50);
const OTHER = Buffer.from('another image');
const OTHER_HASH = createHash('sha256').update(OTHER).digest('hex');
const IMAGE_HASH = createHash('sha256').update(IMAGE).digest('hex');

const HOLDER = { owner: 'a test', leaseMs: 60_000, force: true };

const linesOf = async ({ journal }: Pick<HarnessStore, 'journal'>, scriptId = 'scr_a') =>
  (await journal.read(scriptId))?.lines;

const journalOf = (folder: string, scriptId = 'scr_a') => join(folder, 'journal', `${scriptId}.jsonl`);

/** Uses every port once. */
async function fill({ claim, journal, images }: HarnessStore): Promise<void> {
  await claim.take('scr_a', 0, HOLDER);
  await journal.append('scr_a', 1, ['one'], { flush: true });
  await claim.release('scr_a', 1);
  await claim.take('scr_a', 1, HOLDER);
  await images.put(IMAGE_HASH, IMAGE);
}

function modes(folder: string): { folders: Set<number>; files: Set<number>; count: number } {
  const found = { folders: new Set<number>(), files: new Set<number>(), count: 0 };
  for (const name of ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]) {
    const stat = statSync(join(folder, name));
    (stat.isDirectory() ? found.folders : found.files).add(stat.mode & 0o777);
    found.count++;
  }
  return found;
}

describe('the folder', () => {
  it('is not created by reads', async () => {
    const folder = unusedPath();
    const { claim, journal, images } = fileStore(folder);
    expect(await claim.current('scr_a')).toBe(undefined);
    expect(await claim.take('scr_a', 1, HOLDER)).toBe(undefined);
    await claim.release('scr_a', 1);
    await expect(journal.append('scr_a', 1, ['line'])).rejects.toThrow('is stale');
    expect(await linesOf({ journal })).toBe(undefined);
    expect((await journal.list()).scripts).toEqual([]);
    await journal.delete('scr_a');
    expect(await images.has(IMAGE_HASH)).toBe(false);
    expect(await images.get(IMAGE_HASH)).toBe(undefined);
    expect(await images.list()).toEqual([]);
    await images.delete(IMAGE_HASH);
    expect(existsSync(folder)).toBe(false);
  });

  it.runIf(process.platform !== 'win32').each([0, 0o022, 0o277, 0o777])(
    'is accessible only to its owner, also under umask %o',
    async (umask) => {
      const folder = unusedPath();
      const before = process.umask(umask);
      onTestFinished(() => void process.umask(before));
      const store = fileStore(join(folder, 'deep'));
      await fill(store);
      expect(modes(folder)).toMatchObject({ folders: new Set([0o700]), files: new Set([0o600]) });
      expect(modes(folder).count).toBeGreaterThan(9);
      expect(await linesOf(store)).toEqual(['one']);
    },
  );

  it('keeps its mode if it existed, and its subfolders become private', async () => {
    const folder = unusedPath();
    mkdirSync(join(folder, 'journal'), { recursive: true, mode: 0o755 });
    await fill(fileStore(folder));
    expect(statSync(folder).mode & 0o777).toBe(0o755);
    expect(statSync(join(folder, 'journal')).mode & 0o777).toBe(0o700);
  });

  it('is created again if it is removed under an open store', async () => {
    const folder = unusedPath();
    const store = fileStore(folder);
    await fill(store);
    rmSync(folder, { recursive: true });
    expect((await store.journal.list()).scripts).toEqual([]);
    await fill(store);
    expect(await linesOf(store)).toEqual(['one']);
  });

  it('contains no leftovers of writes', async () => {
    const folder = unusedPath();
    const store = fileStore(folder);
    await fill(store);
    await store.journal.delete('scr_a');
    await store.images.delete(IMAGE_HASH);
    expect(new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }))).toEqual(
      new Set(['claims', 'images', 'journal', 'partial', 'status', join('status', 'running')]),
    );
  });

  it.runIf(process.platform === 'linux')(
    'loses leftovers of processes that have ended, and those of other processes after a week',
    async () => {
      const folder = unusedPath();
      await fill(fileStore(folder));
      const own = identityMark(ownIdentity());
      const dead = own.replace(`${process.pid}_`, `${2 ** 22 + 1}_`);
      const names = { [`${dead}.a`]: 0, [`${own}.b`]: 400, 'somebody.c': 400, 'somebody.d': 100 };
      for (const [name, hours] of Object.entries(names)) {
        mkdirSync(join(folder, 'partial', name, 'deep'), { recursive: true });
        const then = new Date(Date.now() - hours * 3_600_000);
        utimesSync(join(folder, 'partial', name), then, then);
      }
      await fileStore(folder).images.put(OTHER_HASH, OTHER);
      expect(readdirSync(join(folder, 'partial')).toSorted()).toEqual([`${own}.b`, 'somebody.d'].toSorted());
    },
  );
});

describe.runIf(process.platform !== 'win32')('a planted file', () => {
  it.each(['a file', 'nothing'])('that is a link in place of a journal, to %s, is rejected', async (target) => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    const victim = join(dirname(folder), 'victim');
    if (target === 'a file') writeFileSync(victim, '\n1 secret\n.');
    await claim.take('scr_a', 0, HOLDER);
    mkdirSync(join(folder, 'journal'));
    symlinkSync(victim, journalOf(folder));
    await expect(journal.append('scr_a', 1, ['line'])).rejects.toThrow('is a link');
    await expect(journal.read('scr_a')).rejects.toThrow('is a link');
    expect((await journal.list()).scripts).toMatchObject([{ scriptId: 'scr_a', state: 'damaged' }]);
    await journal.delete('scr_a');
    expect(existsSync(victim) && readFileSync(victim, 'utf8')).toBe(target === 'a file' && '\n1 secret\n.');
  });

  it.each(['claims', 'journal', 'images', 'partial'])(
    'that is a link in place of the folder %s is rejected',
    async (name) => {
      const folder = unusedPath();
      const elsewhere = join(dirname(folder), 'elsewhere');
      for (const path of [folder, elsewhere]) mkdirSync(path);
      symlinkSync(elsewhere, join(folder, name));
      await expect(fill(fileStore(folder))).rejects.toThrow('is not a folder');
      expect(readdirSync(elsewhere)).toEqual([]);
    },
  );

  it('that is a link in place of a claim or an image is rejected', async () => {
    const folder = unusedPath();
    const store = fileStore(folder);
    await fill(store);
    for (const name of ['claims/scr_a/2', `images/${IMAGE_HASH}`]) {
      rmSync(join(folder, name));
      symlinkSync(import.meta.filename, join(folder, name));
    }
    await expect(store.claim.current('scr_a')).rejects.toThrow('is a link');
    await expect(store.images.get(IMAGE_HASH)).rejects.toThrow('is a link');
    expect(await store.images.has(IMAGE_HASH)).toBe(false);
  });

  it('that is a pipe in place of a journal neither blocks nor is written', async () => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    await claim.take('scr_a', 0, HOLDER);
    mkdirSync(join(folder, 'journal'));
    execFileSync('mkfifo', [journalOf(folder)]);
    await expect(journal.append('scr_a', 1, ['line'])).rejects.toThrow();
    await expect(journal.read('scr_a')).rejects.toThrow('not a regular file');
  });
});

describe('the journal’s file', () => {
  it('returns arbitrary lines, in batches, between claims', async () => {
    const store = fileStore(unusedPath());
    const line = fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => text.replaceAll('\n', ''));
    let made = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(line, { maxLength: 5 }), { maxLength: 6 }), async (batches) => {
        const scriptId = `scr_${made++}`;
        for (const [epoch, batch] of batches.entries()) {
          await store.claim.take(scriptId, epoch, HOLDER);
          await store.journal.append(scriptId, epoch + 1, batch);
        }
        expect((await linesOf(store, scriptId)) ?? []).toEqual(batches.flat());
      }),
      { numRuns: tries(150) },
    );
  });

  it('keeps an append after one that was truncated at any byte', async () => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    await claim.take('scr_a', 0, HOLDER);
    await journal.append('scr_a', 1, ['first']);
    const { size } = statSync(journalOf(folder));
    await journal.append('scr_a', 1, ['é1', 'é2']);
    const whole = readFileSync(journalOf(folder));
    for (let bytes = size; bytes < whole.length; bytes++) {
      writeFileSync(journalOf(folder), whole);
      truncateSync(journalOf(folder), bytes);
      expect(await linesOf({ journal })).toEqual(['first']);
      await journal.append('scr_a', 1, ['after']);
      expect(await linesOf({ journal })).toEqual(['first', 'after']);
    }
  });

  it('has no lines if only a truncated append is left', async () => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    await claim.take('scr_a', 0, HOLDER);
    await journal.append('scr_a', 1, ['line']);
    truncateSync(journalOf(folder), 5);
    expect(await journal.read('scr_a')).toMatchObject({ lines: [], damage: { isUnflushedTail: false } });
    expect((await journal.list()).scripts).toMatchObject([{ scriptId: 'scr_a', bytes: 5, state: 'damaged' }]);
  });

  it.each([
    [1, 1],
    [1, 200_000],
    [20_000, 1],
  ])('ignores writes of a slow writer after a claim (%i times %i bytes)', async (times, bytes) => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    await claim.take('scr_a', 0, HOLDER);
    await journal.append('scr_a', 1, ['one']);
    await claim.take('scr_a', 1, HOLDER);
    appendFileSync(journalOf(folder), `\n1 ${'x'.repeat(bytes)}\n.`.repeat(times));
    expect(await linesOf({ journal })).toEqual(['one']);
    await journal.append('scr_a', 2, ['two']);
    appendFileSync(journalOf(folder), `\n1*2 ${'x'.repeat(bytes)}\n+x\n.`.repeat(times));
    expect(await linesOf({ journal })).toEqual(['one', 'two']);
  });

  it('survives the loss of its claims: the next claim has a higher epoch', async () => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    await claim.take('scr_a', 0, HOLDER);
    await claim.take('scr_a', 1, HOLDER);
    await journal.append('scr_a', 2, ['two']);
    rmSync(join(folder, 'claims'), { recursive: true });
    expect(await claim.current('scr_a')).toMatchObject({ epoch: 2, isHeld: false });
    expect(await claim.take('scr_a', 0, HOLDER)).toBe(undefined);
    expect((await claim.take('scr_a', 2, HOLDER))?.epoch).toBe(3);
    await journal.append('scr_a', 3, ['three']);
    await expect(journal.append('scr_a', 2, ['stale'])).rejects.toThrow('is stale');
    expect(await linesOf({ journal })).toEqual(['two', 'three']);
  });

  it('does not count foreign files as scripts', async () => {
    const folder = unusedPath();
    const { claim, journal } = fileStore(folder);
    await claim.take('scr_a', 0, HOLDER);
    await journal.append('scr_a', 1, ['one']);
    for (const name of ['journal/notes.txt', 'journal/a b.jsonl', 'journal/.jsonl', 'claims/.hidden'])
      writeFileSync(join(folder, name), 'x');
    mkdirSync(join(folder, 'journal/folder.jsonl'));
    expect((await journal.list()).scripts.map(({ scriptId }) => scriptId)).toEqual(['scr_a']);
  });
});

describe('the list', () => {
  const put = async ({ claim, journal }: HarnessStore, scriptId: string) => {
    await claim.take(scriptId, 0, HOLDER);
    await journal.append(scriptId, 1, ['one'], { status: { state: 'suspended' } });
    await claim.release(scriptId, 1);
  };
  const listed = async ({ journal }: HarnessStore) =>
    (await journal.list({ state: 'suspended' })).scripts.map(({ scriptId }) => scriptId);

  it('hides no script whose claim is under way, and drops the mark of a claim that never came', async () => {
    const folder = unusedPath();
    const store = fileStore(folder);
    const mark = join(folder, 'status', 'running', 'scr_a');
    await fill(store);
    await store.journal.delete('scr_a');
    writeFileSync(mark, '');
    expect((await store.journal.list()).scripts).toEqual([]);
    expect(existsSync(mark)).toBe(true);
    utimesSync(mark, 0, 0);
    expect((await store.journal.list()).scripts).toEqual([]);
    expect(existsSync(mark)).toBe(false);
  });

  it('contains a script that another process claims between two reads of the list', async () => {
    const folder = unusedPath();
    const [store, other] = [fileStore(folder), fileStore(folder)];
    await put(other, 'scr_a');
    const readdir = vi.spyOn(files, 'readdir');
    onTestFinished(() => readdir.mockRestore());
    readdir.mockImplementationOnce(async (path) => {
      expect(path).toBe(join(folder, 'status/running'));
      await other.claim.take('scr_a', 1, { ...HOLDER, lines: ['two'] });
      return [];
    });
    expect((await store.journal.list()).scripts).toMatchObject([{ scriptId: 'scr_a' }]);
  });

  it('reads an unchanged folder once, and sees the changes of other processes', async () => {
    const folder = unusedPath();
    const [store, other] = [fileStore(folder), fileStore(folder)];
    await put(other, 'scr_a');
    const suspended = join(folder, 'status/suspended');
    utimesSync(suspended, new Date(0), new Date(0));
    const readdir = vi.spyOn(files, 'readdir');
    onTestFinished(() => readdir.mockRestore());
    for (let page = 0; page < 3; page++) expect(await listed(store)).toEqual(['scr_a']);
    expect(readdir.mock.calls.filter(([path]) => path === suspended)).toHaveLength(1);
    await put(other, 'scr_b');
    expect(await listed(store)).toEqual(['scr_a', 'scr_b']);
    await other.journal.delete('scr_a');
    expect(await listed(store)).toEqual(['scr_b']);
  });
});

describe('an image’s file', () => {
  it.each(['cut short', 'another image', 'nothing'])(
    'that is %s is not an image, and the next put repairs it',
    async (damage) => {
      const folder = unusedPath();
      const { images } = fileStore(folder);
      await images.put(IMAGE_HASH, IMAGE);
      const path = join(folder, 'images', IMAGE_HASH);
      expect(statSync(path).size).toBeLessThan(IMAGE.length / 10);
      if (damage === 'cut short') truncateSync(path, 40);
      if (damage === 'nothing') truncateSync(path, 0);
      if (damage === 'another image') {
        const other = createHash('sha256').update('other').digest('hex');
        await images.put(other, Buffer.from('other'));
        writeFileSync(path, readFileSync(join(folder, 'images', other)));
      }
      expect(await images.get(IMAGE_HASH)).toBe(undefined);
      await images.put(IMAGE_HASH, IMAGE);
      expect(Buffer.from(IMAGE).equals((await images.get(IMAGE_HASH))!)).toBe(true);
    },
  );
});

describe('a list that is read while a script is resumed and suspended', () => {
  it('does not report the script as interrupted', async () => {
    const { claim, journal } = fileStore(unusedPath());
    const states = new Set<string>();
    const turnsEnd = new AbortController();
    const lists = async () => {
      while (!turnsEnd.signal.aborted) for (const { state } of (await journal.list()).scripts) states.add(state);
    };
    const turns = async () => {
      for (let epoch = 1; epoch <= 300; epoch++) {
        await claim.take('scr_a', epoch - 1, HOLDER);
        await journal.append('scr_a', epoch, ['resumed'], { status: { state: 'running', threadId: '' } });
        await journal.append('scr_a', epoch, ['suspended'], { status: { state: 'suspended', threadId: '' } });
        await claim.release('scr_a', epoch);
      }
      turnsEnd.abort();
    };
    await Promise.all([turns(), lists(), lists()]);
    expect([...states].toSorted()).toEqual(['running', 'suspended']);
    expect((await journal.list()).scripts).toMatchObject([{ scriptId: 'scr_a', state: 'suspended' }]);
  });
});
