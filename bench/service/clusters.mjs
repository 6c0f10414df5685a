import { BenchServer } from './bench-server.mjs';

/** Runs at the same time, over all workers. */
const WORKERS = 200;

/** The deployments on one machine: one process over a file, and one process per role over PostgreSQL and Redis. */
export const EMBEDDED = { name: 'one process over a file', workers: 0 };
export const DISTRIBUTED = [1, 2, 4].map((workers) => ({
  name: `PostgreSQL and Redis, ${workers} worker${workers === 1 ? '' : 's'}`,
  workers,
}));

/** Opens a service with a process for requests, one for persistence and several for runs. */
export async function openCluster(services, database, workers) {
  const place = { store: await services.newDatabase(database), events: services.eventsUrl(database) };
  const share = Math.ceil(WORKERS / workers);
  const worker = { ...place, roles: ['worker'], workers: share };
  // The first process creates the tables.
  return BenchServer.open([
    { ...place, roles: ['api'], workers: 0 },
    { ...place, roles: ['persistence'], workers: 0 },
    ...Array.from({ length: workers }, () => worker),
  ]);
}

export function openEmbedded() {
  return BenchServer.open([{ workers: WORKERS }]);
}
