import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LibsqlDatabase } from '#service/stores/tables/libsql-database.js';
import { tablesOver } from '#service/stores/tables/index.js';
import { newFolder } from '@toolscript/testkit/folder';

const LEASE = { owner: 'a test', leaseMs: 60_000 };

async function openTables() {
  const database = await LibsqlDatabase.open(join(newFolder(), 'service.db'));
  onTestFinished(() => database.close());
  const { threads, runs } = tablesOver(database);
  const count = async (sql: string) => Object.values((await database.first(sql))!)[0];
  /** Adds a completed turn with as many bytes. */
  const endedTurn = async (thread: { threadId: string } | { create: object }, length: number) => {
    const input = [{ type: 'message' as const, id: 'i', role: 'user' as const, content: 'x'.repeat(length) }];
    const draft = { principal: 'ada', thread, input, claim: LEASE };
    const { run, turn } = await runs.create(draft, '', 1);
    await runs.finish({ runId: run.runId, epoch: 1 }, { state: 'completed' }, 2);
    return turn;
  };
  return { threads, count, endedTurn };
}

it('a branch adds as many pages to the file for a large thread as for a small one', async () => {
  const { threads, count, endedTurn } = await openTables();
  const added = async (length: number) => {
    const { threadId } = await endedTurn({ create: {} }, length);
    const { turnId } = await endedTurn({ threadId }, 1);
    const before = (await count('PRAGMA page_count')) as number;
    await threads.create({ principal: 'ada', branchOf: { threadId, turnId } }, 3);
    return ((await count('PRAGMA page_count')) as number) - before;
  };
  await added(1);
  expect(await added(4_000_000)).toBeLessThan(10);
});

it('a transcript is deleted with the last of its runs', async () => {
  const { threads, count, endedTurn } = await openTables();
  const { threadId } = await endedTurn({ create: {} }, 1);
  const { turnId } = await endedTurn({ threadId }, 1);
  const branch = await threads.create({ principal: 'ada', branchOf: { threadId, turnId } }, 3);
  const transcripts = () => count('SELECT count(*) FROM transcripts');
  expect(await transcripts()).toBe(2);
  await threads.delete(threadId);
  expect(await transcripts()).toBe(1);
  await threads.delete(branch.threadId);
  expect(await transcripts()).toBe(0);
});
