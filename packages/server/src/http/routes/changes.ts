import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_PAGE } from '@toolscript/core/protocol';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Service } from '../service.js';
import { sendFrames } from '../sse.js';

/** The minimum interval between two frames of a stream, in ms. Changes within it are sent as one frame. */
const GATHER_MS = 100;

/** The route that reports changes to the lists of threads and approvals. */
export function changesRoute(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/changes',
    config: { scope: 'read' },
    schema: {
      operationId: 'streamChanges',
      summary:
        'Streams a server-sent event "changed" at the start, and after each change of your newest threads or of your pending approvals. Read the lists again after each event.',
      produces: ['text/event-stream'],
    },
    handler: async ({ caller }, reply) => {
      const { streams, metrics, limits } = service;
      const controller = new AbortController();
      streams.add(caller, controller);
      try {
        const frames = changeFrames(service, caller.principal, controller.signal);
        const onDropped = () => metrics.streamDropped();
        await sendFrames(reply, frames, { controller, onDropped, stallMs: limits.stallTimeoutMs });
      } finally {
        streams.delete(controller);
      }
      return reply;
    },
  });
}

async function* changeFrames({ stores }: Service, principal: string, signal: AbortSignal): AsyncGenerator<string> {
  const watching = stores.runs.watch({ signal })[Symbol.asyncIterator]();
  let known: string | undefined;
  for (;;) {
    // The watch begins before the lists are read, so that no change in the meantime is lost.
    const change = watching.next();
    const lists = await listsOf(stores, principal);
    if (lists !== known) yield 'event: changed\ndata: {}\n\n';
    known = lists;
    if ((await change).done === true) return;
    await delay(GATHER_MS, undefined, { signal }).catch(() => {});
  }
}

async function listsOf({ threads }: Service['stores'], principal: string): Promise<string> {
  const query = { principal, limit: DEFAULT_PAGE };
  return JSON.stringify([await threads.list(query), await threads.listApprovals({ ...query, state: 'pending' })]);
}
