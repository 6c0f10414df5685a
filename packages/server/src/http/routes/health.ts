import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ProblemError } from '../problems.js';
import type { Service } from '../service.js';

/** Routes for programs that start and monitor the process. */
export function healthRoutes(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/healthz',
    config: { scope: 'public' },
    schema: {
      operationId: 'health',
      description: 'The process answers.',
      response: { 200: z.object({ status: z.literal('ok') }) },
    },
    handler: () => ({ status: 'ok' as const }),
  });

  app.route({
    method: 'GET',
    url: '/readyz',
    config: { scope: 'public' },
    schema: {
      operationId: 'readiness',
      description:
        'The server accepts requests: its stores and its log can be written, and it is not stopping. Lists what an operator should see to.',
      response: { 200: z.object({ status: z.literal('ready'), warnings: z.array(z.string()) }) },
    },
    handler: async () => {
      if (service.isDraining)
        throw new ProblemError(
          503,
          'The server is stopping. Send requests to another process, or wait until the server has restarted.',
        );
      await service.probe.check();
      const warnings = await Promise.all([service.log.warnings(), stuckRunWarnings(service.stores)]);
      return { status: 'ready' as const, warnings: warnings.flat() };
    },
  });
}

/** The route needs no token, so a warning names no run. */
async function stuckRunWarnings({ runs }: Service['stores']): Promise<string[]> {
  const { runs: stuck, next } = await runs.list({ stuck: true });
  const parked = stuck.filter((run) => run.parked !== undefined).length;
  const counts = {
    'Parked runs, during which workers ended': parked,
    'Runs that no running worker can open': stuck.length - parked,
  };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(
      ([which, count]) =>
        `${which}: ${next === undefined ? '' : 'at least '}${count}. To list them: toolscript admin run list`,
    );
}
