import { isRecord, present } from '@toolscript/core/internal';
import type { DocumentScope } from '@toolscript/core/protocol';
import type { DocumentInfo } from '@toolscript/core/ports';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { hasScope } from '../../access/index.js';
import { notFoundProblem, ProblemError } from '../problems.js';
import { IdSchema, ListQuerySchema, pageSchema, SavedSchema } from '../schemas.js';
import type { Service } from '../service.js';
import { callerThread, typedInstance, type Routes } from './threads.js';

const OwnerQuery = z.object({
  /** Default: the conversation's, if `threadId` is present, or else the caller's own. */
  scope: z.enum(['thread', 'principal', 'workspace']).optional(),
  threadId: IdSchema.optional(),
});
type Owner = z.infer<typeof OwnerQuery>;

const KindParameters = z.object({ kind: z.enum(['prompt', 'snippet']) });
const OneParameters = KindParameters.extend({ name: z.string().min(1).max(256) });

const OWNERS =
  '"scope" is "principal" (your own), "workspace", or "thread" with "threadId". "snippet" is a saved script.';

/** Routes that list, show and delete saved prompts and scripts. */
export function savedRoutes(instance: FastifyInstance, service: Service): void {
  const app = typedInstance(instance);
  readingRoutes(app, service);
  deleteRoute(app, service);
}

function readingRoutes(app: Routes, service: Service): void {
  const { documents } = service.stores;

  app.route({
    method: 'GET',
    url: '/api/v2/saved/:kind',
    config: { scope: 'read' },
    schema: {
      operationId: 'listSaved',
      description: `Lists saved prompts or scripts by name, each with its newest version. ${OWNERS}`,
      params: KindParameters,
      querystring: ListQuerySchema.extend(OwnerQuery.shape),
      response: { 200: pageSchema(SavedSchema) },
    },
    handler: async (request) => {
      const { limit, after, ...owner } = request.query;
      const scope = await documentScope(service, request, owner);
      if (scope === undefined) return { data: [] };
      const page = await documents.list({ scope, kind: request.params.kind, ...present({ limit, after }) });
      return { data: page.documents.map(savedView), next: page.next };
    },
  });

  app.route({
    method: 'GET',
    url: '/api/v2/saved/:kind/:name',
    config: { scope: 'read' },
    schema: {
      operationId: 'getSaved',
      description: `Shows the newest version of a saved prompt or script, with its text. ${OWNERS}`,
      params: OneParameters,
      querystring: OwnerQuery,
      response: { 200: SavedSchema.extend({ text: z.string() }) },
    },
    handler: async (request) => {
      const { kind, name } = request.params;
      const scope = await documentScope(service, request, request.query);
      const found = scope && (await documents.read({ scope, kind, name }));
      if (found === undefined) throw notFoundProblem(kind, name);
      return { ...savedView(found), text: found.text };
    },
  });
}

function deleteRoute(app: Routes, service: Service): void {
  const { documents } = service.stores;
  app.route({
    method: 'DELETE',
    url: '/api/v2/saved/:kind/:name',
    config: { scope: 'run', audit: 'saved_deleted' },
    schema: {
      operationId: 'deleteSaved',
      description: `Deletes a saved prompt or script with all its versions; one of the workspace needs the scope "admin". ${OWNERS}`,
      params: OneParameters,
      querystring: OwnerQuery,
      answers: { 204: {} },
    },
    handler: async (request, reply) => {
      const { kind, name } = request.params;
      const scope = await documentScope(service, request, request.query);
      // defence: shared-saved-texts-of-administrators
      if (scope?.kind === 'workspace' && !hasScope(request.caller, 'admin'))
        throw new ProblemError(403, 'Only an administrator deletes what the whole workspace has saved.');
      if (scope === undefined || !(await documents.delete({ scope, kind, name }))) throw notFoundProblem(kind, name);
      return reply.code(204).send();
    },
  });
}

/** The owner of the documents; undefined if the server has no workspace. Throws a problem for another user's thread. */
async function documentScope(
  service: Service,
  request: FastifyRequest,
  { threadId = '', scope = threadId === '' ? 'principal' : 'thread' }: Owner,
): Promise<DocumentScope | undefined> {
  const { workspace } = service;
  if (scope === 'principal') return { kind: scope, id: request.caller.principal };
  if (scope === 'workspace') return workspace === '' ? undefined : { kind: scope, id: workspace };
  return { kind: scope, id: (await callerThread(service, request, threadId)).threadId };
}

function savedView({ name, scope, version, bytes, createdAt, about }: DocumentInfo) {
  const { description, input, output, variables } = about;
  return {
    name,
    scope: scope.kind,
    version,
    bytes,
    createdAt,
    description: typeof description === 'string' ? description : undefined,
    input: asSchema(input ?? variables),
    output: asSchema(output),
  };
}

function asSchema(value: unknown): Record<string, unknown> | undefined {
  return isRecord(value) ? value : undefined;
}
