import type { EventLog, ServiceStores } from '@toolscript/core/protocol';
import { MemoryDatabase, type MemoryStoresOptions } from './memory-database.js';
import { memoryEventLog } from './memory-event-log.js';
import { MemoryRuns } from './memory-runs.js';
import { MemoryThreads } from './memory-threads.js';

export interface MemoryStores extends ServiceStores {
  readonly events: EventLog;
}

/** Threads, runs, approvals and live events in memory: for tests, and for trying out a server. */
export function memoryStores(options: MemoryStoresOptions = {}): MemoryStores {
  const database = new MemoryDatabase(options);
  const events = memoryEventLog(options);
  return {
    documents: database.documents,
    heaps: database.heaps,
    threads: new MemoryThreads(database),
    runs: new MemoryRuns(database),
    events,
    async close() {
      database.board.close();
      await events.close();
    },
  };
}
