import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Service } from '../http/service.js';
import { apiError } from './api-errors.js';
import { ModelSchema, ModelsSchema } from './wire.js';

/** Routes that list agents as models, which are the values of a request's `model`. */
export function modelRoutes(instance: FastifyInstance, { agents }: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/models',
    config: { scope: 'read' },
    schema: {
      operationId: 'listModels',
      description: 'Open Responses: lists the agents, as models.',
      response: { 200: ModelsSchema },
    },
    handler: async () => ({
      object: 'list' as const,
      data: (await agents.list()).map(({ config }) => agentModel(config.slug)),
    }),
  });

  app.route({
    method: 'GET',
    url: '/models/:model',
    config: { scope: 'read' },
    schema: {
      operationId: 'getModel',
      description: 'Open Responses: shows an agent, as a model.',
      params: z.object({ model: z.string().max(200) }),
      response: { 200: ModelSchema },
    },
    handler: async ({ params: { model } }) => {
      const served = await agents.find(model);
      if (served === undefined)
        throw apiError(404, `There is no agent ${JSON.stringify(model)}. GET /v1/models lists the agents.`, {
          param: 'model',
          code: 'model_not_found',
        });
      return agentModel(served.config.slug);
    },
  });
}

/** The model of an agent. Agents have no creation date. */
function agentModel(slug: string) {
  return { id: slug, object: 'model' as const, created: 0, owned_by: 'toolscript' };
}
