import pg from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { readScriptPage } from '#service/stores/postgres/script-rows.js';
import type { PostgresConnection } from '#service/stores/postgres/connection.js';
import { tablesOver } from '#service/stores/tables/index.js';
import { openStores } from '#service/stores/index.js';
import { observedConnection } from './support/observed-connection.js';
import { fillQueue, fillTables } from './support/fill-tables.mjs';
import { describeWithPostgres, newSchemaUrl } from './support/test-postgres.js';

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly Plan[];
}

/** Tables that grow with the use of the service. */
const GROWING = ['approvals', 'events', 'heaps', 'runs', 'scripts', 'threads', 'turns'];

/** A page of 50 and its neighbours in other tables; the oldest 100 runs of the queue, and what else runs in their threads. */
const MAX_VISITED = 700;

let url: string;

/** The action's result, and the plans that the server chose for its statements. */
async function planned<Result>(action: (connection: PostgresConnection) => Promise<Result>) {
  const plans: Plan[] = [];
  const connection = await observedConnection(url, async (statement, client) => {
    if (typeof statement === 'string' || !/^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)/u.test(statement.text)) return;
    // It executes the statement, which is undone if it may have changed something.
    const isChange = !/^\s*SELECT/u.test(statement.text);
    if (isChange) await client.query('SAVEPOINT explained');
    const text = `EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`;
    const { rows } = await client.query({ text, values: statement.values ?? [] });
    if (isChange) await client.query('ROLLBACK TO explained');
    plans.push((rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan);
  });
  return { result: await action(connection), plans };
}

/** The tables that a plan reads from their first row to their last one. */
function scannedIn(plan: Plan): string[] {
  const below = (plan.Plans ?? []).flatMap(scannedIn);
  return plan['Node Type'] === 'Seq Scan' ? [plan['Relation Name']!, ...below] : below;
}

/** The number of rows that a statement has read. */
function visitedIn(plan: Plan): number {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  return (
    (plan['Relation Name'] === undefined ? 0 : own) +
    (plan.Plans ?? []).reduce((sum, below) => sum + visitedIn(below), 0)
  );
}

async function expectIndexes<Result>(action: (connection: PostgresConnection) => Promise<Result>): Promise<Result> {
  const { result, plans } = await planned(action);
  expect(plans.length).toBeGreaterThan(0);
  expect(plans.flatMap(scannedIn).filter((table) => GROWING.includes(table))).toEqual([]);
  expect(Math.max(...plans.map(visitedIn))).toBeLessThan(MAX_VISITED);
  return result;
}

describeWithPostgres('with many rows, no statement reads a whole table', () => {
  beforeAll(async () => {
    url = await newSchemaUrl();
    await (await openStores(url)).close();
    const client = new pg.Client(url);
    await client.connect();
    const size = { threads: 2_000, eventsPerRun: 20, principals: 20 };
    for (const sql of [...fillTables(size), ...fillQueue({ noisy: 2_000, quiet: 3, unopened: 2_000 })])
      await client.query(sql);
    await client.end();
  });

  it('the check fails for a statement that does', async () => {
    const { plans } = await planned((connection) =>
      connection.all('SELECT count(*) FROM events WHERE event = :no', { no: '' }),
    );
    expect(plans.flatMap(scannedIn)).toEqual(['events']);
  });

  it('that lists threads and reads one', async () => {
    const page = await expectIndexes((connection) => {
      const filters = { principal: '"p7"' };
      return tablesOver(connection).threads.list({ filters, after: 1e15, limit: 20 });
    });
    expect(page.threads).toHaveLength(20);
    const { turns } = await expectIndexes((connection) => tablesOver(connection).threads.readItems('thr_7', 0, 20));
    expect(turns).toHaveLength(2);
  });

  it('that reads and appends events', async () => {
    const { texts } = await expectIndexes((connection) =>
      tablesOver(connection).threads.readEvents('run_7', { from: 5 }),
    );
    expect(texts).toHaveLength(15);
    const batch = { runId: 'run_7', firstSeq: 20, endIndex: -1, texts: ['{"seq":20}'], searched: ['an answer'] };
    expect(await expectIndexes((connection) => tablesOver(connection).threads.append(batch, undefined, 1))).toBe(21);
  });

  it('that lists runs and approvals by state, and finds the expired ones', async () => {
    const filters = { state: 'suspended' };
    const { runs } = await expectIndexes((connection) =>
      tablesOver(connection).runs.list({ filters, after: 0, limit: 20, now: 0 }),
    );
    expect(runs).toHaveLength(20);
    const pending = { filters: { state: 'pending' }, after: 0, limit: 20 };
    const { approvals } = await expectIndexes((connection) => tablesOver(connection).threads.listApprovals(pending));
    expect(approvals).toHaveLength(20);
    expect(await expectIndexes((connection) => tablesOver(connection).threads.expireApprovals(5))).toEqual([]);
  });

  it('that lists suspended scripts', async () => {
    const { scripts } = await expectIndexes((connection) =>
      readScriptPage(connection, { state: 'suspended', limit: 50 }),
    );
    expect(scripts).toHaveLength(50);
  });

  it('that adds, reads and deletes heaps', async () => {
    const draft = { principal: 'p7', threadId: 'thr_7', parentId: 'heap_7', head: '{}', state: new Uint8Array(3) };
    const add = { ...draft, heapId: 'heap_next', isDelta: true };
    expect(await expectIndexes((connection) => tablesOver(connection).heaps.add(add, {}, 1))).toBe('added');
    const chain = await expectIndexes((connection) =>
      connection.read(() => tablesOver(connection).heaps.read('p7', 'heap_next')),
    );
    expect(chain.map(({ heapId }) => heapId)).toEqual(['heap_7', 'heap_next']);
    await expectIndexes((connection) => tablesOver(connection).heaps.newest('p7', 'thr_7'));
    await expectIndexes((connection) => tablesOver(connection).heaps.deleteThread('thr_7', undefined));
  });

  it('that claims a run after a long queue of one principal, and one of runs that the worker does not open', async () => {
    const claim = () =>
      expectIndexes((connection) =>
        tablesOver(connection).runs.claim({ owner: 'w', leaseMs: 60_000, opens: [], needs: [] }, 1_000),
      );
    const claimed = [await claim(), await claim(), await claim(), await claim(), await claim()];
    expect(claimed.map((found) => found?.run.principal)).toEqual([
      'noisy',
      'quiet2000',
      'quiet2001',
      'quiet2002',
      'noisy',
    ]);
  });
});
