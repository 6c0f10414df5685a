import { join } from 'node:path';
import { openStores } from '@toolscript/service/stores';
import { newFolder } from '@toolscript/testkit/folder';
import { expect, it, onTestFinished } from 'vitest';
import { LibsqlDatabase } from '#service/stores/tables/libsql-database.js';

const LEVELS = 20_000;
const DEEP = '['.repeat(LEVELS) + ']'.repeat(LEVELS);

it('a stored record of 20 000 levels is refused, and others are read', async () => {
  const path = join(newFolder(), 'service.db');
  const [stores, other] = [await openStores(`libsql:${path}`), await LibsqlDatabase.open(path)];
  onTestFinished(async () => {
    other.close();
    await stores.close();
  });
  const input = [{ type: 'message' as const, id: 'item_1', role: 'user' as const, content: 'hello' }];
  const create = () => stores.runs.create({ principal: 'ada', thread: { create: {} }, input });
  const [deep, usual] = [(await create()).run, (await create()).run];
  const change = { deep: DEEP, runId: deep.runId };
  const transcript = '(SELECT transcript FROM runs WHERE run_id = :runId)';
  await other.write(async () => {
    await other.run(`UPDATE transcripts SET input = :deep WHERE transcript = ${transcript}`, change);
    await other.run(`INSERT INTO events VALUES (${transcript}, 0, 1, :deep)`, change);
    await other.run('UPDATE runs SET options = :deep WHERE run_id = :runId', change);
  });
  const refusal = { name: 'StoreUnavailableError', message: expect.stringContaining('levels deep') };
  await expect(stores.threads.readItems(deep.threadId)).rejects.toMatchObject(refusal);
  await expect(stores.threads.readEvents(deep.runId)).rejects.toMatchObject(refusal);
  await expect(stores.runs.get(deep.runId)).rejects.toMatchObject(refusal);
  expect((await stores.threads.readItems(usual.threadId)).turns).toMatchObject([{ items: input }]);
});
