import { join } from 'node:path';
import { openStores } from '@toolscript/service/stores';
import { expect, it, onTestFinished } from 'vitest';
import { DatabaseThread } from '#service/stores/database-thread.js';
import { LibsqlDatabase } from '#service/stores/tables/libsql-database.js';
import { newFolder } from '@toolscript/testkit/folder';

const LENGTH = 400_000;
const READS = 100;

/** A database in which ada and bob have a thread. */
async function openTwoThreads() {
  const path = join(newFolder(), 'service.db');
  const [stores, database, other] = await Promise.all([
    openStores(`libsql:${path}`),
    DatabaseThread.open(path),
    LibsqlDatabase.open(path),
  ]);
  onTestFinished(async () => {
    other.close();
    await Promise.all([stores.close(), database.close()]);
  });
  const input = [
    {
      type: 'message' as const,
      id: 'item_1',
      role: 'user' as const,
      content: 'x'.repeat(LENGTH),
    },
  ];
  const create = (principal: string) => stores.runs.create({ principal, thread: { create: {} }, input });
  const [ada, bob] = [(await create('ada')).run, (await create('bob')).run];
  const answered: string[] = [];
  const noted = (name: string, call: Promise<unknown>) => call.then(() => answered.push(name));
  const largeRead = (name: 'ada' | 'bob') =>
    noted(name, database.call('threads', 'readItems', { ada, bob }[name].threadId, 0, 1));
  /** Makes calls that all arrive before the database answers one. Returns the names in the order of the answers. */
  const atOnce = async (calls: () => Promise<unknown>[]) => {
    let made: Promise<unknown>[] = [];
    // The first call waits for the lock of the other connection.
    await other.write(async () => {
      made = [database.call('runs', 'probe'), ...calls()];
    });
    await Promise.all(made);
    return answered;
  };
  return { database, bob, noted, largeRead, atOnce };
}

it('a small read and a write are answered before the large reads that arrived before them', async () => {
  const { database, bob, noted, largeRead, atOnce } = await openTwoThreads();
  const answered = await atOnce(() => [
    ...Array.from({ length: READS }, () => largeRead('ada')),
    noted('write', database.call('threads', 'rename', bob.threadId, 'Ours', 1)),
    noted('small', database.call('runs', 'get', bob.runId)),
  ]);
  expect(answered).toHaveLength(READS + 2);
  expect(answered.indexOf('small')).toBeLessThan(READS / 2);
  expect(answered.indexOf('write')).toBeLessThan(READS / 2);
});

it('principals take turns with large reads', async () => {
  const { largeRead, atOnce } = await openTwoThreads();
  const answered = await atOnce(() => [
    ...Array.from({ length: READS }, () => largeRead('ada')),
    ...Array.from({ length: 3 }, () => largeRead('bob')),
  ]);
  expect(answered.lastIndexOf('bob')).toBeLessThan(READS / 2);
});
