import {
  MAX_PAGE,
  type Approval,
  type Run,
  type RunState,
  type RunStore,
  type SandboxStats,
  type ServiceStores,
  type ThreadStore,
} from '@toolscript/core/protocol';
import { Counter, Gauge, type Registry } from 'prom-client';

/** The parts of a service whose current state is measured on demand. */
export interface GaugeSources {
  readonly stores: ServiceStores;
  /** The runs that this process works on, and their maximum. */
  readonly workers: { readonly size: number; readonly busy: () => number };
  /** Open streams. */
  readonly streams: { readonly size: number };
  readonly sandbox: { stats(): SandboxStats } | undefined;
}

/** Maximum rows of each state that are counted: a scrape reads no more. */
const MAX_COUNTED = 2 * MAX_PAGE;

/** Returns a function that reads the stores; call it before each scrape. */
export function registerGauges(registry: Registry, sources: GaugeSources): () => Promise<void> {
  const { stores, workers, streams, sandbox } = sources;
  gauge(registry, 'toolscript_stream_clients', 'Clients that follow a run.', () => streams.size);
  gauge(registry, 'toolscript_worker_runs', 'Runs that this process works on.', workers.busy);
  gauge(registry, 'toolscript_worker_slots', 'Runs that this process can work on at once.', () => workers.size);
  if (sandbox !== undefined) registerSandboxGauges(registry, sandbox);
  registerProcessGauges(registry);
  return registerStoreGauges(registry, stores);
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const collect = function (this: Gauge) {
    this.set(read());
  };
  // oxlint-disable-next-line no-new
  new Gauge({ name, help, registers: [registry], collect });
}

/** A counter whose value another component maintains. */
function counter(registry: Registry, name: string, help: string, read: () => number): void {
  const collect = function (this: Counter) {
    this.reset();
    this.inc(read());
  };
  // oxlint-disable-next-line no-new
  new Counter({ name, help, registers: [registry], collect });
}

/** Gauges of the database: each process that has it open reports the same values. */
function registerStoreGauges(registry: Registry, { runs, threads }: ServiceStores): () => Promise<void> {
  const registers = [registry];
  const states = new Gauge({
    name: 'toolscript_runs',
    help: `Runs that have not ended, by state, ${MAX_COUNTED} of each at most.`,
    labelNames: ['state'],
    registers,
  });
  const age = new Gauge({
    name: 'toolscript_run_queue_age_seconds',
    help: 'How long the run that was queued first has waited.',
    registers,
  });
  const pending = new Gauge({
    name: 'toolscript_approvals_pending',
    help: `Approvals that wait for a decision, ${MAX_COUNTED} at most.`,
    registers,
  });
  const up = new Gauge({ name: 'toolscript_store_up', help: '1 if the stores answer.', registers });
  const read = async () => {
    const queued = await listRuns(runs, 'queued');
    states.set({ state: 'queued' }, queued.length);
    for (const state of ['running', 'suspended'] as const) states.set({ state }, (await listRuns(runs, state)).length);
    const oldest = Math.min(...queued.map(({ updatedAt }) => updatedAt));
    age.set(queued.length === 0 ? 0 : Math.max(0, Date.now() - oldest) / 1000);
    pending.set((await listPending(threads)).length);
  };
  return () =>
    read().then(
      () => up.set(1),
      () => up.set(0),
    );
}

function listRuns(runs: RunStore, state: RunState): Promise<Run[]> {
  return firstRows(async (query) => {
    const page = await runs.list({ ...query, state });
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
  read: (query: { limit: number; after?: string }) => Promise<{ rows: readonly Row[]; next: string | undefined }>,
): Promise<Row[]> {
  const found: Row[] = [];
  for (let after: string | undefined; found.length < MAX_COUNTED;) {
    const { rows, next } = await read({ limit: MAX_PAGE, ...(after === undefined ? {} : { after }) });
    found.push(...rows);
    if (next === undefined) break;
    after = next;
  }
  return found;
}

function registerSandboxGauges(registry: Registry, sandbox: { stats(): SandboxStats }): void {
  const member = (name: string, help: string, read: (stats: SandboxStats) => number | undefined) => {
    const register = name.endsWith('_total') ? counter : gauge;
    register(registry, `toolscript_sandbox_${name}`, help, () => read(sandbox.stats()) ?? 0);
  };
  member('workers', 'Threads for scripts.', ({ workers }) => workers);
  member('scripts_running', 'Scripts with a sandbox.', ({ running }) => running);
  member('scripts_queued', 'Scripts that wait for a sandbox.', ({ waiting }) => waiting);
  member('memory_bytes', 'Memory of the sandboxes.', ({ memoryBytes }) => memoryBytes);
  member('max_memory_bytes', 'Memory beyond which scripts wait.', ({ maxMemoryBytes }) => maxMemoryBytes);
  member('scripts_completed_total', 'Scripts that have left their sandbox.', ({ completed }) => completed);
  member(
    'instances_dropped_total',
    'Sandboxes that were dropped instead of reused.',
    ({ instancesDropped }) => instancesDropped,
  );
  member('workers_replaced_total', 'Threads that were replaced.', ({ workersReplaced }) => workersReplaced);
}

/**
 * These values are read on demand: prom-client's own defaults would watch the event loop and the garbage collector all
 * the time.
 */
function registerProcessGauges(registry: Registry): void {
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  let before = performance.eventLoopUtilization();
  gauge(registry, 'process_start_time_seconds', 'Start of the process, in s since 1970.', () => startedAt);
  counter(registry, 'process_cpu_seconds_total', 'User and system time of the process.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge(registry, 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge(registry, 'nodejs_heap_size_used_bytes', 'Used heap of the main thread.', () => process.memoryUsage().heapUsed);
  gauge(
    registry,
    'nodejs_eventloop_utilization',
    'Fraction of the time since the last scrape in which the main thread was busy.',
    () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    },
  );
}
