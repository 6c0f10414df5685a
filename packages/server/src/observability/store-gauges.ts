import { setTimeout as delay } from 'node:timers/promises';
import { MAX_PAGE, type RunQuery } from '@toolscript/core/ports';
import type { Approval, EventLog, Run, RunStore, ServiceStores, ThreadStore } from '@toolscript/core/protocol';
import { Gauge, type Registry } from 'prom-client';

/** Maximum number of runs, and of approvals, that a scrape counts for each state. */
const MAX_COUNTED = 2 * MAX_PAGE;

/** Maximum time that a scrape waits for a store, in ms. Prometheus itself waits for 10 s by default. */
const ANSWER_MS = 3_000;

export interface StoreSources {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  /** The group of consumers that copies events to the threads. Undefined: workers write the threads themselves. */
  readonly copiedBy: string | undefined;
}

/**
 * Registers gauges of the stores. All processes that share the stores report the same values. Call the returned
 * function before each scrape.
 */
export function registerStoreGauges(registry: Registry, sources: StoreSources): () => Promise<void> {
  const readers = [databaseGauges(registry, sources.stores), logGauges(registry, sources)];
  return async () => void (await Promise.all(readers.map((read) => read())));
}

function databaseGauges(registry: Registry, { runs, threads }: ServiceStores): () => Promise<void> {
  const registers = [registry];
  const states = new Gauge({
    name: 'toolscript_runs',
    help: `Runs that have not ended, by state, ${MAX_COUNTED} of each at most.`,
    labelNames: ['state'],
    registers,
  });
  const age = new Gauge({
    name: 'toolscript_run_queue_age_seconds',
    help: 'Time for which the oldest queued run has waited.',
    registers,
  });
  const pending = new Gauge({
    name: 'toolscript_approvals_pending',
    help: `Approvals that wait for a decision, ${MAX_COUNTED} at most.`,
    registers,
  });
  const stuck = new Gauge({
    name: 'toolscript_runs_stuck',
    help: `Runs that do not continue until an operator acts, by reason: parked; unopened, which no running worker can open. ${MAX_COUNTED} at most.`,
    labelNames: ['reason'],
    registers,
  });
  const up = new Gauge({ name: 'toolscript_store_up', help: '1 if the stores answer.', registers });
  return untilAnswered(up, async () => {
    const queued = await listRuns(runs, { state: 'queued' });
    states.set({ state: 'queued' }, queued.length);
    for (const state of ['running', 'suspended'] as const)
      states.set({ state }, (await listRuns(runs, { state })).length);
    const all = await listRuns(runs, { stuck: true });
    const parked = all.filter((run) => run.parked !== undefined).length;
    stuck.set({ reason: 'parked' }, parked);
    stuck.set({ reason: 'unopened' }, all.length - parked);
    age.set(ageSeconds(queued.length === 0 ? undefined : Math.min(...queued.map(({ updatedAt }) => updatedAt))));
    pending.set((await listPending(threads)).length);
  });
}

function logGauges(registry: Registry, { log, copiedBy }: StoreSources): () => Promise<void> {
  const registers = [registry];
  const warnings = new Gauge({
    name: 'toolscript_event_log_warnings',
    help: 'Settings and states of the event log that endanger live events. /readyz names them.',
    registers,
  });
  const pending = new Gauge({
    name: 'toolscript_persistence_pending_runs',
    help: 'Runs with events that no persistence worker has stored in their thread.',
    registers,
  });
  const age = new Gauge({
    name: 'toolscript_persistence_lag_seconds',
    help: 'Age of the oldest event that no persistence worker has stored in its thread.',
    registers,
  });
  const dead = new Gauge({
    name: 'toolscript_dead_letters',
    help: 'Runs whose events the thread store has refused five times.',
    registers,
  });
  const up = new Gauge({ name: 'toolscript_event_log_up', help: '1 if the event log answers.', registers });
  return untilAnswered(up, async () => {
    warnings.set((await log.warnings()).length);
    if (copiedBy === undefined) return;
    const { runs, oldestAt, deadLetters } = await log.lag(copiedBy);
    pending.set(runs);
    age.set(ageSeconds(oldestAt));
    dead.set(deadLetters);
  });
}

/** The time since `at`, in s; 0 if `at` is undefined. */
function ageSeconds(at: number | undefined): number {
  return at === undefined ? 0 : Math.max(0, Date.now() - at) / 1000;
}

/**
 * The returned function sets `up` to 1 if the read succeeds within `ANSWER_MS`, otherwise to 0. A late read continues,
 * and the next call waits for that read instead of starting another one.
 */
function untilAnswered(up: Gauge, read: () => Promise<void>): () => Promise<void> {
  let reading: Promise<boolean> | undefined;
  const isRead = () =>
    read().then(
      () => true,
      () => false,
    );
  return async () => {
    reading ??= isRead().finally(() => (reading = undefined));
    const isLate = new AbortController();
    const late = delay(ANSWER_MS, false, { signal: isLate.signal }).catch(() => false);
    up.set((await Promise.race([reading, late])) ? 1 : 0);
    isLate.abort();
  };
}

function listRuns(runs: RunStore, which: Pick<RunQuery, 'state' | 'stuck'>): Promise<Run[]> {
  return firstRows(async (query) => {
    const page = await runs.list({ ...query, ...which });
    return { rows: page.runs, next: page.next };
  });
}

function listPending(threads: ThreadStore): Promise<Approval[]> {
  return firstRows(async (query) => {
    const page = await threads.listApprovals({ ...query, state: 'pending' });
    return { rows: page.approvals, next: page.next };
  });
}

async function firstRows<Row>(
  read: (query: {
    limit: number;
    after?: string | undefined;
  }) => Promise<{ rows: readonly Row[]; next: string | undefined }>,
): Promise<Row[]> {
  const found: Row[] = [];
  for (let after: string | undefined; found.length < MAX_COUNTED;) {
    const { rows, next } = await read({ limit: MAX_PAGE, after });
    found.push(...rows);
    if (next === undefined) break;
    after = next;
  }
  return found;
}
