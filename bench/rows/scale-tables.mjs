import assert from 'node:assert/strict';
import { openStores } from '@toolscript/service/stores';
import { fillTables } from '../../packages/service/test/stores/postgres/support/fill-tables.mjs';
import { absentRow, alternate, timeRuns } from '../measure.mjs';
import { BackingServices, missingServers } from '../service/backing-services.mjs';

const EVENTS_PER_RUN = 100;
const PRINCIPALS = 50;
const PAGE = 50;
/** Threads whose items have been read before, so that their folds are stored. */
const KNOWN_THREADS = 20;

const LIMIT = { limit: 10, limitOf: 'p99' };

export const name = 'scale-tables';
export const ownResult = true;

/** Measures reads when PostgreSQL has many events. */
export async function measure({ effort }) {
  const reason = missingServers();
  if (reason !== undefined)
    return [absentRow({ name, title: 'tables of PostgreSQL', unit: 'ms', better: 'lower' }, reason)];
  const services = await BackingServices.start();
  const url = await services.newDatabase('tables');
  const stores = await openStores(url);
  try {
    const threads = effort.tableEvents / EVENTS_PER_RUN / 2;
    for (const sql of fillTables({ threads, eventsPerRun: EVENTS_PER_RUN, principals: PRINCIPALS }))
      await services.query('tables', sql);
    const count = Number(await services.query('tables', 'SELECT count(*) FROM events'));
    assert.equal(count, effort.tableEvents);
    const size = Number(await services.query('tables', "SELECT pg_database_size('tables')"));
    return await rowsOf(stores, { threads, count, megabytes: Math.round(size / 1_000_000) }, effort);
  } finally {
    await stores.close();
    await services.stop();
  }
}

async function rowsOf({ threads, runs }, { threads: threadCount, count, megabytes }, effort) {
  const timed = { forMs: effort.blockMs, atMost: 200 };
  const row = (what, title, answer, work, budget = LIMIT) =>
    alternate(
      {
        name: `scale-${what}`,
        title: `${title}, of ${count.toLocaleString('en-US').replaceAll(',', ' ')} events in ${megabytes} MB`,
        unit: 'ms',
        better: 'lower',
        ...budget,
      },
      [{ name: 'toolscript', role: 'ours', block: () => timeRuns(work, answer, timed) }],
      effort.pacedRounds,
    );
  const any = (many) => Math.floor(Math.random() * many);
  const principal = () => `p${any(PRINCIPALS)}`;
  const list = async () => (await threads.list({ principal: principal(), limit: PAGE })).threads.length;
  const search = async () =>
    (await threads.list({ principal: principal(), text: 'hello', limit: PAGE })).threads.length;
  const nothing = async () => (await threads.list({ principal: principal(), text: 'not there' })).threads.length;
  const firstItems = async () => (await threads.readItems(`thr_${any(threadCount)}`)).turns.length;
  const known = Array.from({ length: KNOWN_THREADS }, (_, index) => `thr_${index}`);
  for (const threadId of known) await threads.readItems(threadId);
  const items = async () => (await threads.readItems(known[any(KNOWN_THREADS)])).turns.length;
  const events = async () => (await threads.readEvents(`run_${any(2 * threadCount)}`)).events.length;
  const newest = async () => (await threads.readEvents(`run_${any(2 * threadCount)}`, { from: 90 })).events.length;
  const waiting = async () => (await threads.listApprovals({ state: 'pending', limit: 5 })).approvals.length;
  const suspended = async () => (await runs.list({ state: 'suspended', limit: 5 })).runs.length;
  return [
    await row('threads', `a page of ${PAGE} threads of a principal`, Math.min(PAGE, threadCount / PRINCIPALS), list),
    await row('items', 'the items of a thread of two runs', 2, items),
    await row('items-first', 'the same, when the thread is read first and its items are folded', 2, firstItems, {}),
    await row('events', `the ${EVENTS_PER_RUN} events of a run`, EVENTS_PER_RUN, events),
    await row('newest-events', 'the newest 10 events of a run', 10, newest),
    await row('approvals', 'a page of 5 pending approvals', 5, waiting),
    await row('runs', 'a page of 5 suspended runs', 5, suspended),
    await row('search', `a page of ${PAGE} threads with a word`, Math.min(PAGE, threadCount / PRINCIPALS), search, {}),
    await row('search-nothing', 'threads with a word that none contains', 0, nothing, {}),
  ];
}
