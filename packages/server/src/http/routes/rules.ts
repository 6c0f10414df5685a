import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { RememberedRules } from '../../access/index.js';
import { notFoundProblem } from '../problems.js';
import { IdSchema, pageSchema, RuleSchema } from '../schemas.js';

/** Routes that list and delete remembered approvals. If `rules` is undefined, the server remembers no approvals. */
export function ruleRoutes(instance: FastifyInstance, rules: RememberedRules | undefined): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/rules',
    config: { scope: 'admin' },
    schema: {
      operationId: 'listRules',
      description: 'Lists the remembered approvals of the workspace. Calls that they cover need no further approval.',
      response: { 200: pageSchema(RuleSchema) },
    },
    handler: async () => ({ data: [...((await rules?.list()) ?? [])] }),
  });

  app.route({
    method: 'DELETE',
    url: '/api/v2/rules/:ruleId',
    config: { scope: 'admin', audit: 'rule_deleted' },
    schema: {
      operationId: 'deleteRule',
      description: 'Deletes a remembered approval. Runs that begin or resume afterwards ask again.',
      params: z.object({ ruleId: IdSchema }),
      answers: { 204: {} },
    },
    handler: async ({ params: { ruleId } }, reply) => {
      if ((await rules?.delete(ruleId)) !== true) throw notFoundProblem('rule', ruleId);
      return reply.code(204).send();
    },
  });
}
