import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ToolscriptUsageError } from '@toolscript/core';
import { openStores } from '@toolscript/service/stores';
import { afterEach, describe, expect, it } from 'vitest';
import { LibsqlDatabase } from '#service/stores/tables/libsql-database.js';
import { newFolder } from '@toolscript/testkit/folder';

const open: LibsqlDatabase[] = [];

afterEach(() => {
  for (const database of open.splice(0)) database.close();
});

function newPath(): string {
  return join(newFolder(), 'grouped.db');
}

async function openDatabase(path = newPath()): Promise<LibsqlDatabase> {
  const database = await LibsqlDatabase.open(path);
  open.push(database);
  database.script('CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY)');
  return database;
}

function add(database: LibsqlDatabase, name: string): () => Promise<string> {
  return () => database.write(async () => (await database.run('INSERT INTO names VALUES (:name)', { name }), name));
}

async function namesIn(database: LibsqlDatabase): Promise<unknown[]> {
  return (await database.all('SELECT name FROM names ORDER BY name')).map(({ name }) => name);
}

describe('calls that are committed together', () => {
  it('do not undo each other', async () => {
    const database = await openDatabase();
    const broken = () =>
      database.write(async () => {
        await database.run("INSERT INTO names VALUES ('half')");
        throw new Error('broken');
      });
    const outcomes = await database.together([add(database, 'a'), broken, add(database, 'a'), add(database, 'b')]);
    expect(outcomes).toMatchObject([{ value: 'a' }, { error: { message: 'broken' } }, { error: {} }, { value: 'b' }]);
    expect(await namesIn(database)).toEqual(['a', 'b']);
  });

  it('all fail if the commit fails', async () => {
    const database = await openDatabase();
    database.script('CREATE TABLE friends (name TEXT REFERENCES names (name) DEFERRABLE INITIALLY DEFERRED) STRICT');
    const befriend = () => database.write(() => database.run("INSERT INTO friends VALUES ('nobody')"));
    const outcomes = await database.together<unknown>([() => namesIn(database), add(database, 'a'), befriend]);
    expect(outcomes).toMatchObject([{ value: [] }, { error: {} }, { error: {} }]);
    expect(await namesIn(database)).toEqual([]);
    expect(await database.together([add(database, 'b')])).toEqual([{ value: 'b' }]);
  });

  it('see the writes of earlier ones, which no other connection sees before the commit', async () => {
    const path = newPath();
    const [database, other] = [await openDatabase(path), await openDatabase(path)];
    const seen = await database.together<unknown>([add(database, 'a'), () => namesIn(database), () => namesIn(other)]);
    expect(seen).toEqual([{ value: 'a' }, { value: ['a'] }, { value: [] }]);
    expect(await namesIn(other)).toEqual(['a']);
  });

  it('are committed with a flush if one of them requires it', async () => {
    const path = newPath();
    const database = await openDatabase(path);
    const growthOf = async (flush: boolean, name: string) => {
      const before = statSync(`${path}-wal`).size;
      await database.together([
        () => database.write(() => database.run(`INSERT INTO names VALUES ('${name}')`), { flush }),
      ]);
      return statSync(`${path}-wal`).size - before;
    };
    const [first, ordinary, flushed] = [
      await growthOf(false, 'a'),
      await growthOf(false, 'b'),
      await growthOf(true, 'c'),
    ];
    expect([first > 0, ordinary > 0, flushed > ordinary]).toEqual([true, true, true]);
    expect(await database.all('PRAGMA synchronous')).toEqual([{ synchronous: 2 }]);
  });

  it('take no lock if they only read', async () => {
    const path = newPath();
    const [database, other] = [await openDatabase(path), await openDatabase(path)];
    const read = () => database.read(() => namesIn(database));
    const outcomes = await other.write(() => database.together([read, read]));
    expect(outcomes).toEqual([{ value: [] }, { value: [] }]);
  });
});

it('concurrent calls get the same answers as sequential ones', async () => {
  const stores = await openStores(`libsql:${join(newFolder(), 'many.db')}`);
  const input = [{ type: 'message' as const, id: 'item_1', role: 'user' as const, content: 'hello' }];
  const calls = Array.from({ length: 250 }, (_, index) =>
    stores.runs
      .create({ principal: 'ada', thread: { create: {} }, input, idempotencyKey: `key ${index % 100}` })
      .then(({ run, isNew }) => ({ index, runId: run.runId, isNew })),
  );
  const created = await Promise.all(calls);
  expect(created.filter(({ isNew }) => isNew).map(({ index }) => index)).toEqual(
    Array.from({ length: 100 }, (_, index) => index),
  );
  for (const { index, runId } of created) expect(runId).toBe(created[index % 100]!.runId);
  const claims = await Promise.all(
    Array.from({ length: 120 }, () => stores.runs.claim({ owner: 'test', leaseMs: 60_000 })),
  );
  expect(claims.map((claim) => claim?.run.runId)).toEqual([
    ...created.slice(0, 100).map(({ runId }) => runId),
    ...Array.from({ length: 20 }, () => undefined),
  ]);
  await stores.close();
});

it('a mistake that the thread of the database finds keeps its code', async () => {
  const stores = await openStores(`libsql:${join(newFolder(), 'mistakes.db')}`);
  const thread = { principal: 'ada', threadId: 'thr_1' };
  await stores.threads.create(thread);
  const again = stores.threads.create(thread);
  await expect(again).rejects.toBeInstanceOf(ToolscriptUsageError);
  await expect(again).rejects.toMatchObject({
    code: 'ID_TAKEN',
    message: expect.stringContaining('"thr_1"') as string,
  });
  await stores.close();
});
