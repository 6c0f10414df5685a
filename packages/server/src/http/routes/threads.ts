import { present, type Thread } from '@toolscript/core/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { allTurns, deleteThread } from '../../runs/index.js';
import { notFound } from '../problems.js';
import { IdSchema, ListQuerySchema, pageOf, ThreadSchema, ThreadSummarySchema } from '../schemas.js';
import type { Service } from '../service.js';
import { threadView, wholeThreadView } from '../views.js';

const ThreadParameters = z.object({ threadId: IdSchema });

/** Routes that list, show, rename and delete threads. */
export function threadRoutes(instance: FastifyInstance, service: Service): void {
  readingRoutes(typed(instance), service);
  changingRoutes(typed(instance), service);
}

export function typed(instance: FastifyInstance) {
  return instance.withTypeProvider<ZodTypeProvider>();
}

export type Routes = ReturnType<typeof typed>;

function readingRoutes(app: Routes, service: Service): void {
  const { threads } = service.stores;

  app.route({
    method: 'GET',
    url: '/api/v2/threads',
    config: { scope: 'read' },
    schema: {
      operationId: 'listThreads',
      summary: 'Lists your threads, the most recently changed one first.',
      querystring: ListQuerySchema.extend({ text: z.string().max(1000).optional() }),
      response: { 200: pageOf(ThreadSummarySchema) },
    },
    handler: async ({ caller, query }) => {
      const page = await threads.list({ principal: caller.principal, ...present(query) });
      return { data: page.threads.map(threadView), ...present({ next: page.next }) };
    },
  });

  app.route({
    method: 'GET',
    url: '/api/v2/threads/:threadId',
    config: { scope: 'read' },
    schema: {
      operationId: 'getThread',
      summary: 'Shows a thread: its runs and its items. "operations=full" adds the arguments and results of calls.',
      params: ThreadParameters,
      querystring: z.object({ operations: z.enum(['summary', 'full']).default('summary') }),
      response: { 200: ThreadSchema },
    },
    handler: async (request) => {
      const thread = await ownThread(service, request);
      return wholeThreadView(thread, await allTurns(service.stores, thread.threadId), request.query.operations);
    },
  });
}

function changingRoutes(app: Routes, service: Service): void {
  const { threads } = service.stores;

  app.route({
    method: 'PATCH',
    url: '/api/v2/threads/:threadId',
    config: { scope: 'run' },
    schema: {
      operationId: 'renameThread',
      summary: 'Renames a thread.',
      params: ThreadParameters,
      body: z.strictObject({ title: z.string().max(1000) }),
      response: { 200: ThreadSummarySchema },
    },
    handler: async (request) => {
      const { threadId } = await ownThread(service, request);
      const renamed = await threads.rename(threadId, request.body.title);
      if (renamed === undefined) throw notFound('thread', threadId);
      return threadView(renamed);
    },
  });

  app.route({
    method: 'DELETE',
    url: '/api/v2/threads/:threadId',
    config: { scope: 'run' },
    schema: {
      operationId: 'deleteThread',
      summary: 'Deletes a thread with everything in it. Its active runs are stopped.',
      params: ThreadParameters,
    },
    handler: async (request, reply) => {
      const { threadId } = await ownThread(service, request);
      await deleteThread(service, threadId, (runId) => service.worker?.stopDeleted(runId));
      return reply.code(204).send();
    },
  });
}

export async function ownThread({ stores }: Service, request: FastifyRequest): Promise<Thread> {
  const { threadId } = request.params as { threadId: string };
  const thread = await stores.threads.get(threadId);
  // defence: thread-of-the-caller
  if (thread === undefined || thread.principal !== request.caller.principal) throw notFound('thread', threadId);
  return thread;
}
