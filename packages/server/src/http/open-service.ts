import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { AccessLimits } from '../access/index.js';
import { observeRuns, requestObserver, ServiceMetrics } from '../observability/index.js';
import { ownOwner, RunCleaner, RunWorker } from '../runs/index.js';
import { OpenStreams } from './open-streams.js';
import { DEFAULT_DRAIN_MS, DEFAULT_WORKERS, type ServerOptions } from './server-options.js';
import type { ServerParts } from './server-parts.js';
import type { Service } from './service.js';

/** How long streams of runs that have just ended may take to send their last events, in ms. */
const STREAM_END_MS = 500;

/** Starts the worker with the server, and drains it when the server closes. */
export function openService(
  app: FastifyInstance,
  options: ServerOptions,
  parts: ServerParts & { readonly limits: AccessLimits },
): Service {
  const { stores, log, scripts, agents, audit, limits } = parts;
  const { workspace = '', workers = DEFAULT_WORKERS } = options;
  const onFault = (error: unknown, run: object | undefined) => app.log.error({ err: error, ...run }, 'fault in a run');
  const workspaces = [...new Set(['', workspace])];
  const streams = new OpenStreams(limits, options.auth.keys);
  const busy = (): number => worker?.busy ?? 0;
  const shared = options.harness?.runtime;
  const sandbox = options.sandbox ?? (typeof shared === 'object' ? shared : undefined);
  const metrics = new ServiceMetrics({ stores, streams, workers: { size: workers, busy }, sandbox });
  const observe = observeRuns(metrics, app.log);
  const settings = { stores, log, scripts, agents, owner: ownOwner(), size: workers, workspaces, onFault, observe };
  const worker = workers === 0 ? undefined : new RunWorker(settings);
  const service: Service = {
    stores,
    log,
    scripts,
    agents,
    worker,
    workspace,
    streams,
    metrics,
    limits,
    audit,
    rules: options.rules,
    isDraining: false,
  };
  const cleaner = new RunCleaner({ stores, log, scripts, onFault: (error) => onFault(error, undefined) });
  app.addHook('onReady', async () => {
    worker?.start();
    if (worker !== undefined) cleaner.start();
  });
  app.addHook('onResponse', requestObserver(metrics, options.logRequests === true ? 'info' : 'debug'));
  app.addHook('preClose', async () => {
    service.isDraining = true;
    await cleaner.stop();
    await worker?.drain(options.drainMs ?? DEFAULT_DRAIN_MS);
    await emptied(streams, STREAM_END_MS);
    streams.abortAll();
    await emptied(streams, STREAM_END_MS);
  });
  app.addHook('onClose', () => parts.close());
  return service;
}

/** Waits until the set is empty, at most `ms`. */
async function emptied(set: { readonly size: number }, ms: number): Promise<void> {
  for (const end = performance.now() + ms; set.size > 0 && performance.now() < end;) await delay(10);
}
