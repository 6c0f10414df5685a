import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../access/index.js';
import type { ObserveRun, RunObserver } from '@toolscript/service';
import { LoggedRun } from './run-log.js';
import type { ServiceMetrics } from './service-metrics.js';

/** Measures and logs each run. */
export function observeRuns(metrics: ServiceMetrics, log: FastifyBaseLogger): ObserveRun {
  return (run, earlier) => both(metrics.runs.observe(run, earlier), new LoggedRun(log, run));
}

function both(first: RunObserver, second: RunObserver): RunObserver {
  return {
    agentOpened(opened) {
      first.agentOpened(opened);
      second.agentOpened(opened);
    },
    event(event) {
      first.event(event);
      second.event(event);
    },
    eventsWritten(store, seconds) {
      first.eventsWritten(store, seconds);
      second.eventsWritten(store, seconds);
    },
    workEnded(how) {
      first.workEnded(how);
      second.workEnded(how);
    },
  };
}

/** Measures each request, and logs its end. */
export function requestObserver(
  metrics: ServiceMetrics,
  level: 'info' | 'debug',
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    const { method, routeOptions, params, ip } = request;
    // A request without a valid token has no caller.
    const { principal, keyId } = (request.caller as Caller | null) ?? {};
    const { statusCode: status, elapsedTime } = reply;
    const route = routeOptions.url;
    metrics.requestEnded({ method, route, status, seconds: elapsedTime / 1000 });
    const actor = { principal, keyId, address: ip };
    request.log[level]({ method, route, ...(params as object), actor, status, ms: Math.round(elapsedTime) }, 'request');
  };
}
