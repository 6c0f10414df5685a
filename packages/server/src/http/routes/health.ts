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
      summary: 'The process answers.',
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
      summary:
        'The server accepts requests: its stores and its log answer, and it is not stopping. Lists what endangers live events.',
      response: { 200: z.object({ status: z.literal('ready'), warnings: z.array(z.string()) }) },
    },
    handler: async () => {
      if (service.isDraining)
        throw new ProblemError(
          503,
          'The server is stopping. Send requests to another process, or wait until the server has restarted.',
        );
      const [, warnings] = await Promise.all([service.stores.runs.list({ limit: 1 }), service.log.warnings()]);
      return { status: 'ready' as const, warnings: [...warnings] };
    },
  });
}
