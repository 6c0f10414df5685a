import { present } from '@toolscript/core/internal';
import { RunStateSchema, type Thread } from '@toolscript/core/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { deleteThread } from '@toolscript/service';
import { notFoundProblem } from '../problems.js';
import { IdSchema, ListQuerySchema, pageSchema, ThreadSchema, ThreadSummarySchema } from '../schemas.js';
import type { Service } from '../service.js';
import { sendSlices } from '../text-slices.js';
import { threadText } from '../thread-text.js';
import { threadView } from '../views.js';

const ThreadListQuery = ListQuerySchema.extend({
  text: z.string().max(1000).optional(),
  state: RunStateSchema.optional(),
});
const ThreadParameters = z.object({ threadId: IdSchema });

/** Routes that list, show, rename and delete threads. */
export function threadRoutes(instance: FastifyInstance, service: Service): void {
  readingRoutes(typedInstance(instance), service);
  changingRoutes(typedInstance(instance), service);
}

/** Whether the list reads more threads than it shows. */
function isSearch({ text, state }: z.infer<typeof ThreadListQuery>): boolean {
  return text !== undefined || state !== undefined;
}

export function typedInstance(instance: FastifyInstance) {
  return instance.withTypeProvider<ZodTypeProvider>();
}

export type Routes = ReturnType<typeof typedInstance>;

function readingRoutes(app: Routes, service: Service): void {
  const { longReads } = service;
  const { threads } = service.stores;

  app.route({
    method: 'GET',
    url: '/api/v2/threads',
    config: { scope: 'read', readsMuch: ({ query }) => isSearch(query as z.infer<typeof ThreadListQuery>) },
    schema: {
      operationId: 'listThreads',
      description:
        'Lists your threads, the most recently changed one first. "text" finds titles, messages, answers and names of files; "state" those whose active or newest run is in that state.',
      querystring: ThreadListQuery,
      response: { 200: pageSchema(ThreadSummarySchema) },
    },
    handler: async ({ caller, query }) => {
      const list = () => threads.list({ principal: caller.principal, ...present(query) });
      const page = await (!isSearch(query) ? list() : longReads.read(caller.principal, list));
      return { data: page.threads.map(threadView), next: page.next };
    },
  });

  app.route({
    method: 'GET',
    url: '/api/v2/threads/:threadId',
    config: { scope: 'read', readsMuch: () => true },
    schema: {
      operationId: 'getThread',
      description: 'Shows a thread: its runs and its items. "operations=full" adds the arguments and results of calls.',
      params: ThreadParameters,
      querystring: z.object({ operations: z.enum(['summary', 'full']).default('summary') }),
      response: { 200: ThreadSchema },
    },
    handler: async (request, reply) => {
      const { operations } = request.query;
      const thread = await ownThread(service, request);
      const { scripts = 'separate' } = (await service.agents.find(thread.agentId))?.config ?? {};
      const text = threadText(threads, thread, { operations, longReads, scripts });
      service.streams.addResponse(request.caller, reply);
      return sendSlices(reply, text);
    },
  });
}

function changingRoutes(app: Routes, service: Service): void {
  const { threads } = service.stores;

  app.route({
    method: 'PATCH',
    url: '/api/v2/threads/:threadId',
    config: { scope: 'run', audit: 'thread_renamed' },
    schema: {
      operationId: 'renameThread',
      description: 'Renames a thread.',
      params: ThreadParameters,
      body: z.strictObject({ title: z.string().max(1000) }),
      response: { 200: ThreadSummarySchema },
    },
    handler: async (request) => {
      const { threadId } = await ownThread(service, request);
      const renamed = await threads.rename(threadId, request.body.title);
      if (renamed === undefined) throw notFoundProblem('thread', threadId);
      return threadView(renamed);
    },
  });

  app.route({
    method: 'DELETE',
    url: '/api/v2/threads/:threadId',
    config: { scope: 'run', audit: 'thread_deleted' },
    schema: {
      operationId: 'deleteThread',
      description: 'Deletes a thread with everything in it. Its active runs are stopped.',
      params: ThreadParameters,
      answers: { 204: {} },
    },
    handler: async (request, reply) => {
      const { threadId } = await ownThread(service, request);
      await deleteThread(service, threadId, (runId) => service.worker?.stopDeleted(runId));
      return reply.code(204).send();
    },
  });
}

export function ownThread(service: Service, request: FastifyRequest): Promise<Thread> {
  return callerThread(service, request, (request.params as { threadId: string }).threadId);
}

/** The thread, if it belongs to the caller. Throws a problem otherwise. */
export async function callerThread(
  { stores }: Service,
  { caller: { principal } }: FastifyRequest,
  threadId: string,
): Promise<Thread> {
  // defence: thread-of-the-caller
  const thread = await stores.threads.get(threadId, { principal });
  if (thread === undefined) throw notFoundProblem('thread', threadId);
  return thread;
}
