import { join } from 'node:path';
import { DOCUMENT_LIMITS } from '@toolscript/core/ports';
import { expect, it, onTestFinished } from 'vitest';
import { LibsqlDatabase } from '#service/stores/tables/libsql-database.js';
import { tablesOver } from '#service/stores/tables/index.js';
import { newFolder } from '@toolscript/testkit/folder';

const LEASE = { owner: 'a test', leaseMs: 60_000 };

async function openTables() {
  const database = await LibsqlDatabase.open(join(newFolder(), 'service.db'));
  onTestFinished(() => database.close());
  const { threads, runs, documents } = tablesOver(database);
  const count = async (sql: string) => Object.values((await database.first(sql))!)[0];
  /** Adds a completed turn with as many bytes. */
  const endedTurn = async (thread: { threadId: string } | { create: object }, length: number) => {
    const input = [{ type: 'message' as const, id: 'i', role: 'user' as const, content: 'x'.repeat(length) }];
    const draft = { principal: 'ada', thread, input, claim: LEASE };
    const { run, turn } = await runs.create(draft, '', 1);
    await runs.finish({ runId: run.runId, epoch: 1 }, { state: 'completed' }, 2);
    return turn;
  };
  const save = (threadId: string, text: string) => {
    const place = { scope: { kind: 'thread', id: threadId }, kind: 'file', name: 'a' } as const;
    const rest = { about: {}, expiresAt: undefined, ifVersion: undefined, idempotencyKey: undefined, fence: undefined };
    return documents.save({ ...place, ...rest, text }, DOCUMENT_LIMITS, 1);
  };
  return { threads, count, endedTurn, save };
}

it('a branch adds as many pages to the file for a large thread as for a small one', async () => {
  const { threads, count, endedTurn, save } = await openTables();
  const added = async (length: number) => {
    const { threadId } = await endedTurn({ create: {} }, length);
    await save(threadId, 'x'.repeat(length));
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

it('a text of a document is deleted with the last of its versions', async () => {
  const { threads, count, endedTurn, save } = await openTables();
  const { threadId, turnId } = await endedTurn({ create: {} }, 1);
  await save(threadId, 'shared');
  const texts = () => count('SELECT count(*) FROM document_texts');
  const branch = await threads.create({ principal: 'ada', branchOf: { threadId, turnId, withTurn: true } }, 3);
  expect(await texts()).toBe(1);
  for (let version = 2; version <= DOCUMENT_LIMITS.versions + 1; version += 1) await save(threadId, 'own');
  expect(await texts()).toBe(DOCUMENT_LIMITS.versions + 1);
  await threads.delete(threadId);
  expect(await texts()).toBe(1);
  await threads.delete(branch.threadId);
  expect(await texts()).toBe(0);
});
