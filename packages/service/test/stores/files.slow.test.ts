import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { openEventLog, openStores } from '#service/stores/index.js';
import { LibsqlDatabase } from '#service/stores/tables/libsql-database.js';
import { describeFault } from '#service/stores/tables/faults.js';
import { LIBSQL_MIGRATIONS } from '#service/stores/tables/migrations.js';
import { newFolder } from '@toolscript/testkit/folder';

const VERSIONS = LIBSQL_MIGRATIONS.map((_step, index) => index + 1);
const isWindows = process.platform === 'win32';
const draft = { principal: 'ada', thread: { create: { title: 'a thread' } } };
const input = [{ type: 'message', id: 'item_user', role: 'user', content: 'hello' } as const];

/** A file in the format of that version. */
function fileOfVersion(version: number): string {
  const path = join(newFolder(), 'service.db');
  const database = new Libsql(path);
  database.exec(readFileSync(new URL(`dumps/${version}.sql`, import.meta.url), 'utf8'));
  database.close();
  return path;
}

/** The schema, in any layout. */
function schemaOf(path: string): string[] {
  const database = new Libsql(path);
  const rows = database.prepare('SELECT sql FROM sqlite_master WHERE sql IS NOT NULL').all() as { sql: string }[];
  database.close();
  return rows.map(({ sql }) => sql.replaceAll(/\s+/gu, ' ')).toSorted();
}

async function freshFile(): Promise<string> {
  const path = join(newFolder(), 'service.db');
  await (await openStores(`libsql:${path}`)).close();
  return path;
}

function copyOf(path: string): string {
  copyFileSync(path, `${path}.copy`);
  return `${path}.copy`;
}

/** The sentence that describes a fault. */
async function sentence(path: string, action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
  } catch (error) {
    const told = describeFault(error, path);
    expect(told).toBeInstanceOf(StoreUnavailableError);
    return (told as Error).message;
  }
  throw new Error('nothing failed');
}

describe('versions of the schema', () => {
  it.each(VERSIONS)('a file of version %i is opened with all its data', async (version) => {
    const url = `libsql:${fileOfVersion(version)}`;
    const stores = await openStores(url);
    const log = await openEventLog(url);
    expect(await stores.threads.get('thr_1')).toMatchObject({ title: 'a\0title', workspace: '/w', agentId: 'coder' });
    expect(await stores.threads.instructions('thr_1')).toMatchObject({ system: 'be brief' });
    expect((await stores.threads.readEvents('run_1')).events).toHaveLength(2);
    expect((await stores.threads.readItems('thr_1')).turns[0]?.items).toHaveLength(1);
    const notes = { scope: { kind: 'thread', id: 'thr_1' }, kind: 'file', name: 'notes.md' } as const;
    expect((await stores.documents.read(notes))?.text).toBe('a\0two');
    expect((await stores.documents.save({ ...notes, text: 'x' })).version).toBe(3);
    expect([...(await stores.heaps.read('ada', 'heap_1'))[0]!.state]).toEqual([1, 0, 255]);
    expect((await stores.threads.decide('apr_1', 'approve', 'ada'))?.isRunQueued).toBe(true);
    expect((await stores.runs.claim({ owner: 'a test', leaseMs: 1_000 }))?.run).toMatchObject({
      runId: 'run_1',
      epoch: 2,
    });
    expect(await log.open('run_1', 2)).toEqual({ nextSeq: 2, isEnded: false });
    await stores.close();
    await log.close();
  });

  it.each(VERSIONS)('a file of version %i gets the schema of a new one', async (version) => {
    const path = fileOfVersion(version);
    await (await openStores(`libsql:${path}`)).close();
    expect(schemaOf(path)).toEqual(schemaOf(await freshFile()));
  });

  it('a later step keeps the data of a file, and is applied once', async () => {
    const path = fileOfVersion(LIBSQL_MIGRATIONS.length);
    const steps = [...LIBSQL_MIGRATIONS, "ALTER TABLE threads ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'"];
    for (let count = 0; count < 2; count += 1) {
      const database = await LibsqlDatabase.open(path, steps);
      expect(database.schemaVersion).toBe(steps.length);
      const sql = 'SELECT thread_id, colour FROM threads';
      expect(await database.all(sql)).toEqual([{ thread_id: 'thr_1', colour: 'red' }]);
      database.close();
    }
  });

  it('a file newer than the program is rejected and unchanged', async () => {
    const path = await freshFile();
    const database = new Libsql(path);
    database.exec(`PRAGMA user_version = ${LIBSQL_MIGRATIONS.length + 1}`);
    const refusal = new RegExp(`newer version of Toolscript .*schema is ${LIBSQL_MIGRATIONS.length + 1}.*Install`, 'u');
    await expect(openStores(`libsql:${path}`)).rejects.toThrow(refusal);
    await expect(openEventLog(`libsql:${path}`)).rejects.toThrow(StoreUnavailableError);
    expect(database.prepare('PRAGMA user_version').all()).toEqual([{ user_version: LIBSQL_MIGRATIONS.length + 1 }]);
    database.close();
  });

  it('concurrent opens create one file', async () => {
    const url = `libsql:${newFolder()}/service.db`;
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (index % 2 ? openStores : openEventLog)(url)),
    );
    await Promise.all(all.map((each) => each.close()));
  });
});

describe('files', () => {
  it.skipIf(isWindows)('the file, the files next to it and the folder are accessible only to their owner', async () => {
    const folder = join(newFolder(), 'a/b');
    const stores = await openStores(`libsql:${folder}/service.db`);
    await stores.runs.create({ ...draft, input });
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of ['service.db', 'service.db-wal', 'service.db-shm'])
      expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600);
    await stores.close();
  });

  it.skipIf(isWindows)('a file that others could read becomes private', async () => {
    const path = await freshFile();
    chmodSync(path, 0o644);
    await (await openStores(`libsql:${path}`)).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('a file that is not a database, or a damaged one, is rejected in one sentence and unchanged', async () => {
    const path = await freshFile();
    const bytes = readFileSync(path);
    for (const damaged of [
      Buffer.from('no database, and long enough to be read as one'.repeat(50)),
      bytes.fill(0xa5, 0, 60),
    ]) {
      writeFileSync(path, damaged);
      const refusal = `${path} is damaged, or is not a Toolscript database. Move it away to start with an empty one, or restore a backup.`;
      await expect(openStores(`libsql:${path}`)).rejects.toThrow(new StoreUnavailableError(refusal));
      expect(readFileSync(path).equals(damaged)).toBe(true);
    }
  });

  it('damage that is found later is reported in one sentence', async () => {
    const path = await freshFile();
    const stores = await openStores(`libsql:${path}`);
    for (let count = 0; count < 50; count++) await stores.runs.create({ ...draft, input });
    await stores.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x5a, 4_096 + 100));
    const damaged = await openStores(`libsql:${path}`).catch((error: unknown) => error);
    const failure =
      damaged instanceof Error ? damaged : await readAll(damaged as never).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect((failure as Error).message).toMatch(/is damaged/u);
  });

  it('a database of another program is rejected and unchanged', async () => {
    const path = join(newFolder(), 'other.db');
    const other = new Libsql(path);
    other.exec('CREATE TABLE theirs (a)');
    await expect(openStores(`libsql:${path}`)).rejects.toThrow(/database of another program/u);
    expect(other.prepare('PRAGMA journal_mode').all()).toEqual([{ journal_mode: 'delete' }]);
    other.close();
  });

  it('a path through a file, or to a folder, is rejected in one sentence', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'file'), '');
    mkdirSync(join(folder, 'folder'));
    for (const name of ['file/service.db', 'folder'])
      await expect(openStores(`libsql:${folder}/${name}`)).rejects.toThrow(
        /cannot be opened for writing\. Give your user/u,
      );
  });

  it.skipIf(isWindows)('a folder or a file that cannot be written is rejected in one sentence', async () => {
    const folder = newFolder();
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'theirs.db'), '', { mode: 0o644 });
    chmodSync(join(folder, 'theirs.db'), 0o444);
    chmodSync(folder, 0o555);
    await asNobody(async () => {
      for (const name of ['new.db', 'theirs.db', 'sub/new.db']) {
        const path = join(folder, name);
        expect(await sentence(path, () => LibsqlDatabase.open(path))).toMatch(/cannot be opened for writing/u);
      }
    });
    chmodSync(folder, 0o755);
  });

  it.runIf(!isWindows)('a file that is deleted or replaced while it is open is missed at the next call', async () => {
    for (const change of [
      (path: string) => rmSync(dirname(path), { recursive: true }),
      (path: string) => renameSync(copyOf(path), path),
    ]) {
      const path = await freshFile();
      const stores = await openStores(`libsql:${path}`);
      const { threadId } = await stores.threads.create({ principal: 'ada' });
      change(path);
      const calls = [() => stores.threads.get(threadId), () => stores.threads.create({ principal: 'ada' })];
      for (const call of calls) {
        const refused = call();
        await expect(refused).rejects.toThrow(StoreUnavailableError);
        await expect(refused).rejects.toThrow(/service\.db was deleted or replaced while it was open/u);
      }
      await stores.close();
    }
  });

  it('a full disk is reported in one sentence, and existing data stays', async () => {
    const path = await freshFile();
    const database = await LibsqlDatabase.open(path);
    database.script('CREATE TABLE filler (text TEXT); PRAGMA max_page_count = 60');
    const fill = () => database.run(`INSERT INTO filler VALUES (:text)`, { text: 'x'.repeat(3_000) });
    const told = await sentence(path, () =>
      database.write(async () => {
        for (let count = 0; count < 100; count++) await fill();
      }),
    );
    expect(told).toBe(`${path} cannot grow: the disk is full. Free disk space and try again.`);
    expect(await database.all('SELECT count(*) AS count FROM filler')).toEqual([{ count: 0 }]);
    database.script('PRAGMA max_page_count = 1000000');
    await database.write(fill);
    database.close();
  });

  it('a file that another process holds is reported in one sentence', async () => {
    const path = await freshFile();
    const [holder, other] = [await LibsqlDatabase.open(path), await LibsqlDatabase.open(path)];
    other.script('PRAGMA busy_timeout = 20');
    const told = await holder.write(() => sentence(path, () => other.write(async () => {})));
    expect(told).toMatch(/is locked: another process has held it for 15 s\. End that process/u);
    await other.write(async () => {});
    holder.close();
    other.close();
  });
});

/** Root may write everywhere, so it cannot run this test. */
async function asNobody(action: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return action();
  process.seteuid!(65_534);
  try {
    await action();
  } finally {
    process.seteuid!(0);
  }
}

async function readAll(stores: Awaited<ReturnType<typeof openStores>>): Promise<void> {
  try {
    await stores.threads.list({ text: 'hello' });
    await stores.runs.list({ limit: 500 });
    await stores.runs.create({ ...draft, input });
  } finally {
    await stores.close();
  }
}

describe('URLs', () => {
  it('memory: opens a new store each time', async () => {
    const [one, two] = [await openStores('memory:'), await openStores('memory:')];
    await one.threads.create({ principal: 'ada' });
    expect((await two.threads.list()).threads).toEqual([]);
    await (await openEventLog('memory:')).close();
  });

  it.each([
    'mysql://user:secret@host/db',
    'redis+tls://:secret@host',
    'libsql://host/secret',
    'libsql:',
    'libsql::memory:',
    '',
    'x',
    'file:/secret',
  ])('%j is rejected with the supported forms, and without its secrets', async (url) => {
    for (const open of [openStores, openEventLog]) {
      const refused = await open(url).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ToolscriptUsageError);
      expect((refused as Error).message).toMatch(
        open === openEventLog
          ? /Supported are "redis:.*", "postgres:.*", "libsql:FILE".* and "memory:"\.$/u
          : /Supported are "postgres:.*", "libsql:FILE".* and "memory:"\.$/u,
      );
      expect((refused as Error).message).not.toContain('secret');
    }
  });

  it('Redis keeps a log of events, but no stores', async () => {
    const refused = await openStores('redis://:secret@host').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ToolscriptUsageError);
    expect((refused as Error).message).toMatch(/^Stores cannot be opened at "redis:…"\. Supported are "postgres:/u);
  });

  it('a program with open stores exits by itself', async () => {
    const url = JSON.stringify(`libsql:${await freshFile()}`);
    const modules = JSON.stringify(new URL('../../dist/stores/index.js', import.meta.url));
    const program = `const { openStores } = await import(${modules}); console.log((await (await openStores(${url})).threads.list()).threads)`;
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      timeout: 240_000,
    });
    expect([stdout, stderr, status]).toEqual(['[]\n', '', 0]);
  });

  it('a closed store reports that it is closed', async () => {
    const stores = await openStores(`libsql:${await freshFile()}`);
    await stores.close();
    await stores.close();
    await expect(stores.threads.list()).rejects.toThrow(/is closed\. Open the store again\./u);
  });
});
