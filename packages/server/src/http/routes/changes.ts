import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Service } from '../service.js';
import { sendFrames } from '../sse.js';
import { ChangedLists } from '../changed-lists.js';

/** The route that reports changes to the lists of threads and approvals. */
export function changesRoute(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const lists = new ChangedLists(service.stores);

  app.route({
    method: 'GET',
    url: '/api/v2/changes',
    config: { scope: 'read' },
    schema: {
      operationId: 'streamChanges',
      description:
        'Streams a server-sent event "changed" at the start, and after each change of your newest threads or of their approvals. Read the lists again after each event.',
      answers: { 200: { 'text/event-stream': z.strictObject({}) } },
    },
    handler: async ({ caller }, reply) => {
      const { streams, metrics, limits } = service;
      const controller = new AbortController();
      streams.add(caller, controller);
      try {
        const frames = changeFrames(lists, caller.principal, controller.signal);
        const onDropped = () => metrics.streamDropped();
        await sendFrames(reply, frames, { controller, onDropped, stallMs: limits.stallTimeoutMs });
      } finally {
        streams.delete(controller);
      }
      return reply;
    },
  });
}

async function* changeFrames(lists: ChangedLists, principal: string, signal: AbortSignal): AsyncGenerator<string> {
  for await (const _change of lists.follow(principal, signal)) yield 'event: changed\ndata: {}\n\n';
}
