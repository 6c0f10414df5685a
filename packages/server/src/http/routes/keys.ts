import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { isActive, keyFacts, makeApiKey, type ApiKey, type ApiKeyStore } from '../../access/index.js';
import type { AuthOptions } from '../auth.js';
import { notFoundProblem, ProblemError } from '../problems.js';
import { ApiKeySchema, IdSchema, NewApiKeySchema, NewKeyBodySchema, pageSchema } from '../schemas.js';
import type { Service } from '../service.js';

/** Routes that list, create and revoke API keys. */
export function keyRoutes(
  instance: FastifyInstance,
  { requestAudit }: Pick<Service, 'requestAudit'>,
  keys: AuthOptions['keys'],
): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/keys',
    config: { scope: 'admin' },
    schema: {
      operationId: 'listKeys',
      description: 'Lists the API keys, oldest first, without their tokens.',
      response: { 200: pageSchema(ApiKeySchema) },
    },
    handler: async () => ({ data: (await changeableKeys(keys).list()).map(keyView) }),
  });

  app.route({
    method: 'POST',
    url: '/api/v2/keys',
    config: { scope: 'admin', audit: 'key_added' },
    schema: {
      operationId: 'addKey',
      description: 'Creates an API key. Only this response contains the token of the key.',
      body: NewKeyBodySchema,
      response: { 201: NewApiKeySchema },
    },
    handler: async (request, reply) => {
      const { scopes, principal = request.body.name, ...draft } = request.body;
      const { key, token } = makeApiKey({ ...draft, principal, scopes: [...scopes] });
      const store = changeableKeys(keys);
      // The audit log records the change before the store applies it.
      requestAudit.append(request, keyFacts(key));
      await store.add(key);
      return reply.code(201).send({ ...keyView(key), token });
    },
  });

  app.route({
    method: 'DELETE',
    url: '/api/v2/keys/:keyId',
    config: { scope: 'admin', audit: 'key_revoked' },
    schema: {
      operationId: 'revokeKey',
      description:
        'Revokes an API key. The server then ends the streams of the key and refuses further requests with it.',
      params: z.object({ keyId: IdSchema }),
      answers: { 204: {} },
    },
    handler: async (request, reply) => {
      const { keyId } = request.params;
      const store = changeableKeys(keys);
      const key = await store.get(keyId);
      if (key === undefined) throw notFoundProblem('API key', keyId);
      requestAudit.append(request, keyFacts(key));
      await store.delete(keyId);
      return reply.code(204).send();
    },
  });
}

/** The store of the keys. Throws a problem with status 404 if the server cannot change its keys. */
function changeableKeys(keys: AuthOptions['keys']): ApiKeyStore {
  if (keys !== undefined && 'add' in keys && 'list' in keys && 'delete' in keys) return keys as ApiKeyStore;
  throw new ProblemError(
    404,
    'This server cannot list, create or revoke API keys. Set its option auth.keys to a complete store, such as new KeyFolder(PATH).',
  );
}

function keyView(whole: ApiKey) {
  const { sha256: _sha256, ...key } = whole;
  return { ...key, isActive: isActive(whole) };
}
