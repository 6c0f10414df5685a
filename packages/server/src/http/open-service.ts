import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '@toolscript/core/protocol';
import type { FastifyInstance } from 'fastify';
import type { AccessLimits } from '../access/index.js';
import { observeRuns, requestObserver, ServiceMetrics } from '../observability/index.js';
import {
  LongReads,
  ownOwner,
  PERSISTENCE_GROUP,
  PersistenceWorker,
  RunCleaner,
  RunProjector,
  RunWorker,
  StoreProbe,
  type Projection,
} from '@toolscript/service';
import { OpenStreams } from './open-streams.js';
import { RequestAudit } from './request-audit.js';
import { DEFAULT_DRAIN_MS, DEFAULT_WORKERS, SERVER_ROLES, type ServerOptions } from './server-options.js';
import type { ServerParts } from './server-parts.js';
import type { Service } from './service.js';

/**
 * Maximum time that the closing server waits for its streams to end before it aborts them, and again afterwards, in ms.
 */
const STREAM_END_MS = 500;

/** Creates the service. The worker starts with the server, and drains when the server closes. */
export function openService(
  app: FastifyInstance,
  options: ServerOptions,
  parts: ServerParts & { readonly limits: AccessLimits },
): Service {
  const { stores, log, scripts, agents, audit, limits } = parts;
  const { workspace = '', roles = SERVER_ROLES, projection } = options;
  const workers = roles.includes('worker') ? (options.workers ?? DEFAULT_WORKERS) : 0;
  const isPersistedElsewhere = options.roles !== undefined;
  const onFault = (error: unknown, run: object | undefined) =>
    app.log.error(
      { err: error, ...run },
      'an error interrupted the work on runs; check the stores and the cause in err',
    );
  const streams = new OpenStreams(limits, options.auth.keys);
  const busy = (): number => worker?.busy ?? 0;
  const sandbox = sharedSandbox(options);
  const copiedBy = isPersistedElsewhere || projection !== undefined ? PERSISTENCE_GROUP : undefined;
  const metrics = new ServiceMetrics({ stores, log, copiedBy, streams, workers: { size: workers, busy }, sandbox });
  const owner = ownOwner();
  const longReads = new LongReads();
  const probe = new StoreProbe({ stores, log, scripts });
  const common = { stores, log, scripts, projection, longReads, onFault };
  const settings = {
    ...common,
    probe,
    agents,
    owner,
    size: workers,
    workspaces: [...new Set(['', workspace])],
    maxPerPrincipal: limits.runsPerPrincipal,
    observe: observeRuns(metrics, app.log),
    isPersistedElsewhere,
  };
  const worker = workers === 0 ? undefined : new RunWorker(settings);
  const persistence = openPersistence({ ...common, consumer: owner }, { roles: options.roles, hasWorker: workers > 0 });
  const service: Service = {
    stores,
    log,
    projection,
    scripts,
    probe,
    agents,
    longReads,
    worker,
    workspace,
    streams,
    metrics,
    limits,
    audit,
    requestAudit: new RequestAudit(audit),
    rules: options.rules,
    isDraining: false,
  };
  service.requestAudit.observe(app);
  app.addHook('onResponse', requestObserver(metrics, options.logRequests === true ? 'info' : 'debug'));
  workWhileOpen(app, service, { persistence, drainMs: options.drainMs ?? DEFAULT_DRAIN_MS });
  app.addHook('onClose', () => parts.close());
  return service;
}

interface ServiceWork {
  readonly persistence: { start(): void; stop(): Promise<void> };
  readonly drainMs: number;
}

function workWhileOpen(app: FastifyInstance, service: Service, { persistence, drainMs }: ServiceWork): void {
  const { worker, log, streams } = service;
  app.addHook('onReady', async () => {
    worker?.start();
    persistence.start();
    await warnOperator(app, log);
  });
  app.addHook('preClose', async () => {
    service.isDraining = true;
    await worker?.drain(drainMs);
    await persistence.stop();
    await endStreams(streams);
  });
}

function sharedSandbox({ harness, sandbox }: ServerOptions): ServerOptions['sandbox'] {
  const shared = harness?.runtime;
  return sandbox ?? (typeof shared === 'object' ? shared : undefined);
}

interface PersistenceSettings extends Pick<ServerParts, 'stores' | 'log' | 'scripts'> {
  readonly projection: Projection | undefined;
  readonly consumer: string;
  readonly onFault: (error: unknown, run: object | undefined) => void;
}

/**
 * Without `roles`, the worker writes the threads, and its process deletes unneeded data. If that process has a
 * projection, a persistence worker copies the runs from the log to the projection.
 */
function openPersistence(
  { stores, log, scripts, projection, consumer, onFault }: PersistenceSettings,
  { roles, hasWorker }: { readonly roles: ServerOptions['roles']; readonly hasWorker: boolean },
): ServiceWork['persistence'] {
  const cleaner = new RunCleaner({ stores, log, scripts, projection, onFault: (error) => onFault(error, undefined) });
  const { threads } = stores;
  const projector = projection === undefined ? undefined : new RunProjector(threads, projection);
  const copier = new PersistenceWorker({ threads, log, projector, consumer, onFault });
  const isAlone = roles === undefined && hasWorker;
  const copies = roles?.includes('persistence') === true || (isAlone && projection !== undefined);
  return {
    start: () => {
      if (copies) copier.start();
      if (copies || isAlone) cleaner.start();
    },
    stop: async () => {
      await cleaner.stop();
      await copier.stop();
    },
  };
}

/**
 * Writes the warnings of the event log to the server's log. The readiness check reports an event log that does not
 * answer.
 */
async function warnOperator(app: FastifyInstance, log: EventLog): Promise<void> {
  for (const warning of await log.warnings().catch(() => [])) app.log.warn(warning);
}

async function endStreams(streams: OpenStreams): Promise<void> {
  await untilEmpty(streams, STREAM_END_MS);
  streams.abortAll();
  await untilEmpty(streams, STREAM_END_MS);
}

/** Waits until the set is empty, for at most `ms`. */
async function untilEmpty(set: { readonly size: number }, ms: number): Promise<void> {
  for (const end = performance.now() + ms; set.size > 0 && performance.now() < end;) await delay(10);
}
