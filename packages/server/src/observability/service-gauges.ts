import type { SandboxStats } from '@toolscript/core/ports';
import { Counter, Gauge, type Registry } from 'prom-client';
import { registerStoreGauges, type StoreSources } from './store-gauges.js';

/** The parts of a service whose current state is measured on demand. */
export interface GaugeSources extends StoreSources {
  /** The number of runs that this process executes now, and the maximum. */
  readonly workers: { readonly size: number; readonly busy: () => number };
  /** Open streams. */
  readonly streams: { readonly size: number };
  readonly sandbox: { stats(): SandboxStats } | undefined;
}

/**
 * Registers the gauges of a service. Returns a function that reads the stores. Call that function before each scrape.
 */
export function registerGauges(registry: Registry, sources: GaugeSources): () => Promise<void> {
  const { workers, streams, sandbox } = sources;
  gauge(registry, 'toolscript_stream_clients', 'Clients with an open event stream.', () => streams.size);
  gauge(registry, 'toolscript_worker_runs', 'Runs that this process works on.', workers.busy);
  gauge(registry, 'toolscript_worker_slots', 'Runs that this process can work on at once.', () => workers.size);
  if (sandbox !== undefined) registerSandboxGauges(registry, sandbox);
  registerProcessGauges(registry);
  return registerStoreGauges(registry, sources);
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const collect = function (this: Gauge) {
    this.set(read());
  };
  // oxlint-disable-next-line no-new
  new Gauge({ name, help, registers: [registry], collect });
}

/** Registers a counter whose value another component maintains. */
function counter(registry: Registry, name: string, help: string, read: () => number): void {
  const collect = function (this: Counter) {
    this.reset();
    this.inc(read());
  };
  // oxlint-disable-next-line no-new
  new Counter({ name, help, registers: [registry], collect });
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
 * Registers metrics that read their values on demand. prom-client's own defaults would watch the event loop and the
 * garbage collector all the time.
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
