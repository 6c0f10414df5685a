import type { RunDraft, ServiceStores } from '@toolscript/core/protocol';
import { afterEach, expect, it } from 'vitest';
import { openDatabase } from '#service/stores/index.js';
import { PostgresDatabase } from '#service/stores/postgres/postgres-database.js';
import { postgresScripts } from '#service/stores/postgres/scripts.js';
import { describeWithPostgres, newSchemaUrl } from './support/test-postgres.js';

const DRAFT: RunDraft = {
  principal: 'ada',
  thread: { create: {} },
  input: [{ type: 'message', id: 'item_1', role: 'user', content: 'Hello' }],
};

/** Claims the only run. A claim skips a run whose row an append has locked. */
async function claimed(runs: ServiceStores['runs']): Promise<void> {
  while ((await runs.claim({ owner: 'second', leaseMs: 60_000 })) === undefined);
}

describeWithPostgres('the first append of a script in PostgreSQL', () => {
  const open: { close(): Promise<unknown> }[] = [];
  afterEach(() => Promise.all(open.splice(0).map((database) => database.close())));

  it('is refused if the run of the script was claimed again', async () => {
    const database = await openDatabase(await newSchemaUrl());
    open.push(database);
    const { runs } = database.stores;
    const { claim, journal } = database.scripts!;
    const { run } = await runs.create(DRAFT);
    const { runId } = run;
    await runs.claim({ owner: 'first', leaseMs: 60_000 });
    await claim.take('s1', 0, { owner: 'first', leaseMs: 60_000 });
    await claim.take('s2', 0, { owner: 'first', leaseMs: 60_000 });
    const status = { state: 'running', runId } as const;
    await journal.append('s1', 1, ['a'], { status, fence: { runId, epoch: 1 } });
    await runs.release({ runId, epoch: 1 });
    expect((await runs.claim({ owner: 'second', leaseMs: 60_000 }))?.run.epoch).toBe(2);
    const late = Promise.resolve(journal.append('s2', 1, ['a'], { status, fence: { runId, epoch: 1 } }));
    await expect(late).rejects.toMatchObject({ name: 'StaleEpochError' });
    expect(await journal.read('s2')).toBeUndefined();
    const { scripts } = await journal.list({ runId });
    expect(scripts.map(({ scriptId }) => scriptId)).toEqual(['s1']);
  });

  it('is refused or found by the next worker, if both claim and append happen at once', async () => {
    const url = await newSchemaUrl();
    const [first, second] = await Promise.all([openDatabase(url), openDatabase(url)]);
    open.push(first, second);
    const { runs } = second.stores;
    for (let round = 0; round < 30; round += 1) {
      const { runId } = (await runs.create(DRAFT)).run;
      const scriptId = `s${round}`;
      await runs.claim({ owner: 'first', leaseMs: 60_000 });
      await first.scripts!.claim.take(scriptId, 0, { owner: 'first', leaseMs: 60_000 });
      await runs.release({ runId, epoch: 1 });
      const status = { state: 'running', runId } as const;
      const fence = { runId, epoch: 1 };
      const [append, found] = await Promise.all([
        Promise.resolve(first.scripts!.journal.append(scriptId, 1, ['a'], { status, fence })).then(
          () => true,
          () => false,
        ),
        claimed(runs)
          .then(() => second.scripts!.journal.list({ runId }))
          .then(({ scripts }) => scripts.length > 0),
      ]);
      expect(found).toBe(append);
      await runs.finish({ runId, epoch: 2 }, { state: 'completed' });
    }
  });

  it('takes the appends down with it that were made before its failure was known', async () => {
    const database = await PostgresDatabase.open(await newSchemaUrl());
    open.push(database);
    const { claim, journal } = postgresScripts(database, { maxScriptBytes: 1_000 });
    await claim.take('s1', 0, { owner: 'first', leaseMs: 60_000 });
    const appends = ['x'.repeat(2_000), 'after it'].map((line) => Promise.resolve(journal.append('s1', 1, [line])));
    const ends = await Promise.allSettled(appends);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await journal.append('s1', 1, ['later']);
    expect((await journal.read('s1'))?.lines).toEqual(['later']);
  });
});
