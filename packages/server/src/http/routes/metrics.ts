import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ServiceMetrics } from '../../observability/index.js';

/** The route that Prometheus reads. The metrics cover all principals together, and contain no text of users. */
export function metricsRoute(app: FastifyInstance, metrics: ServiceMetrics): void {
  app.route({
    method: 'GET',
    url: '/metrics',
    config: { scope: 'read' },
    schema: {
      operationId: 'metrics',
      description: 'Shows the metrics of this process and its database, in the text format of Prometheus.',
      answers: { 200: { 'text/plain': z.string() } },
    },
    handler: async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  });
}
