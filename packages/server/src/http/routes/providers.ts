import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ConnectedProvider, ModelConnections } from '../../access/index.js';
import { notFoundProblem, ProblemError } from '../problems.js';
import { IdSchema, ProviderSchema } from '../schemas.js';
import { typedInstance } from './threads.js';

const MAX_KEY = 4_096;

const Parameters = z.object({ provider: IdSchema });

/** Routes that store the keys of providers. If `models` is undefined, the server stores none. */
export function providerRoutes(instance: FastifyInstance, models: ModelConnections | undefined): void {
  const app = typedInstance(instance);

  app.route({
    method: 'GET',
    url: '/api/v2/providers',
    config: { scope: 'admin' },
    schema: {
      operationId: 'listProviders',
      description: 'Lists the providers of models whose key the server can store, without the keys.',
      response: { 200: z.object({ data: z.array(ProviderSchema) }) },
    },
    handler: async () => ({ data: [...((await models?.list()) ?? [])] }),
  });

  app.route({
    method: 'PUT',
    url: '/api/v2/providers/:provider',
    config: { scope: 'admin', audit: 'provider_connected' },
    schema: {
      operationId: 'connectProvider',
      description:
        'Tests a key at the provider, and stores it if the provider accepts it. Answers the models of the provider. No answer contains the key.',
      params: Parameters,
      body: z.strictObject({ key: z.string().min(1).max(MAX_KEY) }),
      response: { 200: z.object({ models: z.array(z.string()) }) },
    },
    handler: async ({ params: { provider }, body: { key } }) => {
      const connected = await (await knownProvider(models, provider)).connect(provider, key);
      if (typeof connected === 'string') throw new ProblemError(422, connected);
      return { models: [...connected] };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/api/v2/providers/:provider',
    config: { scope: 'admin', audit: 'provider_removed' },
    schema: {
      operationId: 'removeProvider',
      description: 'Removes the stored key of a provider. The key stays valid until you revoke it at the provider.',
      params: Parameters,
      answers: { 204: {} },
    },
    handler: async ({ params: { provider } }, reply) => {
      if (!(await (await knownProvider(models, provider)).remove(provider)))
        throw notFoundProblem('key of the provider', provider);
      return reply.code(204).send();
    },
  });
}

/** Throws a problem with status 404 if the server does not store keys of the provider. */
async function knownProvider(models: ModelConnections | undefined, provider: string): Promise<ModelConnections> {
  const known: readonly ConnectedProvider[] = (await models?.list()) ?? [];
  if (models === undefined || !known.some((each) => each.provider === provider))
    throw notFoundProblem('provider', provider);
  return models;
}
