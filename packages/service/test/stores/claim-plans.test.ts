import { join } from 'node:path';
import { newFolder } from '@toolscript/testkit/folder';
import { expect, it, onTestFinished } from 'vitest';
import { LibsqlDatabase } from '#service/stores/tables/libsql-database.js';
import type { Database, Parameters } from '#service/stores/tables/database.js';
import { tablesOver } from '#service/stores/tables/index.js';

/** A database whose statements are reported. */
async function observedDatabase(onStatement: (sql: string, parameters: Parameters) => void) {
  const real = await LibsqlDatabase.open(join(newFolder(), 'service.db'));
  onTestFinished(() => real.close());
  const all = (sql: string, parameters: Parameters = {}) => {
    onStatement(sql, parameters);
    return real.all(sql, parameters);
  };
  const database = new Proxy<Database>(real, {
    get(target, name) {
      if (name === 'all') return all;
      if (name === 'first') return async (sql: string, parameters?: Parameters) => (await all(sql, parameters))[0];
      const member = Reflect.get(target, name) as unknown;
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  return { database, real };
}

/** The steps of a plan that read runs, which have several names. */
const READS_RUNS = /^(?:SCAN|SEARCH) (?:runs|candidate|other|known)\b/u;

/** Steps that read one run, one thread or one class, find the next class, or read the classes or the running runs. */
const ARE_NARROW = [
  /^SEARCH .*(?:<expr>|run_id|thread_id|position)[=>]\?/u,
  /^SEARCH runs USING INDEX claimable_runs_of_class$/u,
  /^SCAN known$/u,
  /^SEARCH runs USING INDEX runs_of_state \(state=\?\)$/u,
];

it('a claim finds its run by the classes of runs, not by a scan of those that its worker does not open', async () => {
  const statements: [sql: string, parameters: Parameters][] = [];
  const { database, real } = await observedDatabase((...statement) => statements.push(statement));
  const { runs } = tablesOver(database);
  const draft = (needs: string[], principal: string) => {
    const thread = { create: { title: '', workspace: '' } };
    const input = [{ type: 'message', id: 'item', role: 'user', content: '' } as const];
    return runs.create({ principal, thread, needs, input, options: {} }, '', 1);
  };
  for (let count = 0; count < 150; count += 1) await draft(['key:other'], `p${count}`);
  const { run } = await draft(['key:own'], 'ada');
  statements.length = 0;
  const claim = (opens: string[]) => runs.claim({ owner: 'w', leaseMs: 60_000, opens, needs: [] } as never, 2);
  expect((await claim(['key:own']))?.run.runId).toBe(run.runId);
  expect(await claim(['key:own'])).toBeUndefined();
  const steps: string[] = [];
  for (const [sql, parameters] of statements)
    steps.push(...(await real.all(`EXPLAIN QUERY PLAN ${sql}`, parameters)).map(({ detail }) => String(detail)));
  const reads = steps.filter((step) => READS_RUNS.test(step));
  expect(reads.length).toBeGreaterThan(0);
  expect(reads.filter((step) => !ARE_NARROW.some((narrow) => narrow.test(step)))).toEqual([]);
});
