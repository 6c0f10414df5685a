import { present } from '@toolscript/core/internal';
import type { Run } from '@toolscript/core/protocol';
import { stuckReason } from '@toolscript/service';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { notFoundProblem } from '../problems.js';
import { IdSchema, ListQuerySchema, pageSchema, RunSchema, StuckRunSchema } from '../schemas.js';
import type { Service } from '../service.js';
import { runView } from '../views.js';

export const RunParameters = z.object({ runId: IdSchema });

/** Routes that show, cancel and resume runs. */
export function runRoutes(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/runs/:runId',
    config: { scope: 'read' },
    schema: {
      operationId: 'getRun',
      description: 'Shows a run.',
      params: RunParameters,
      response: { 200: RunSchema },
    },
    handler: async (request) => runView(await ownRun(service, request)),
  });

  app.route({
    method: 'POST',
    url: '/api/v2/runs/:runId/cancel',
    config: { scope: 'run', audit: 'run_cancelled' },
    schema: {
      operationId: 'cancelRun',
      description: 'Requests the cancellation of a run. The run ends soon after; a run that has ended stays unchanged.',
      params: RunParameters,
      response: { 202: RunSchema },
    },
    handler: async (request, reply) => {
      const { runId } = await ownRun(service, request);
      const run = await cancelRun(service, runId);
      if (run === undefined) throw notFoundProblem('run', runId);
      service.requestAudit.note(request, { threadId: run.threadId });
      return reply.code(202).send(runView(run));
    },
  });

  stuckRunRoutes(instance, service);
}

/** Routes of operators, for the runs of all principals. */
function stuckRunRoutes(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const { runs } = service.stores;

  app.route({
    method: 'GET',
    url: '/api/v2/stuck-runs',
    config: { scope: 'admin' },
    schema: {
      operationId: 'listStuckRuns',
      description: 'Lists the runs of all principals that do not continue until an operator acts, oldest first.',
      querystring: ListQuerySchema,
      response: { 200: pageSchema(StuckRunSchema) },
    },
    handler: async ({ query }) => {
      const page = await runs.list({ stuck: true, ...present(query) });
      const workers = page.runs.length === 0 ? [] : await runs.workers();
      const data = page.runs.map((run) => ({
        ...runView(run),
        principal: run.principal,
        stuck: stuckReason(run, workers),
      }));
      return { data, next: page.next };
    },
  });

  app.route({
    method: 'POST',
    url: '/api/v2/stuck-runs/:runId/resume',
    config: { scope: 'admin', audit: 'run_resumed' },
    schema: {
      operationId: 'resumeRun',
      description: 'Queues a run of any principal that was parked after too many interruptions.',
      params: RunParameters,
      response: { 202: RunSchema },
    },
    handler: async (request, reply) => {
      const { runId } = request.params;
      const isParked = (await runs.get(runId))?.parked !== undefined;
      const run = isParked ? await runs.resume(runId) : undefined;
      if (run === undefined) throw notFoundProblem('parked run', runId);
      service.requestAudit.note(request, { principal: run.principal, threadId: run.threadId });
      return reply.code(202).send(runView(run));
    },
  });
}

/** Requests the cancellation of a run. Returns undefined if the run does not exist. */
export async function cancelRun({ stores, worker }: Service, runId: string): Promise<Run | undefined> {
  const run = await stores.runs.requestCancel(runId);
  worker?.cancel(runId);
  return run;
}

export async function ownRun({ stores }: Service, request: FastifyRequest): Promise<Run> {
  const { runId } = request.params as { runId: string };
  const { principal } = request.caller;
  // defence: run-of-the-caller
  const run = await stores.runs.get(runId, { principal });
  if (run === undefined) throw notFoundProblem('run', runId);
  return run;
}
