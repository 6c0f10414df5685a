import { isFinalRunState } from '@toolscript/core/internal';
import { StreamEventSchema, type Run } from '@toolscript/core/protocol';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Caller } from '../../access/index.js';
import { streamRun } from '@toolscript/service';
import { ProblemError } from '../problems.js';
import type { Service } from '../service.js';
import { sendEvents } from '../sse.js';
import { ownRun, RunParameters } from './runs.js';

/** The route that streams the events of a run. */
export function streamRoute(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/stream/:runId',
    config: { scope: 'read' },
    schema: {
      operationId: 'streamRun',
      description:
        'Streams the events of a run as server-sent events, from the first one, or after the one that "Last-Event-ID" names. 204: the run has ended, and has no more events.',
      params: RunParameters,
      querystring: z.object({ from: z.coerce.number().int().min(0).optional() }),
      headers: z.object({ 'last-event-id': z.string().max(20).optional() }),
      answers: { 200: { 'text/event-stream': StreamEventSchema }, 204: {} },
    },
    handler: async (request, reply) => {
      const run = await ownRun(service, request);
      const from = request.query.from ?? seqAfter(request.headers['last-event-id']);
      if (isFinalRunState(run.state) && !(await hasEvents(service, run, from))) return reply.code(204).send();
      await stream(service, run, from, { caller: request.caller, reply });
      return reply;
    },
  });
}

function seqAfter(lastEventId: string | undefined): number {
  if (lastEventId === undefined || lastEventId === '') return 0;
  if (/^\d{1,15}$/u.test(lastEventId)) return Number(lastEventId) + 1;
  throw new ProblemError(400, 'Last-Event-ID is not the id of an event of this run. Send a whole number, or omit it.');
}

async function hasEvents({ stores }: Service, { runId }: Run, from: number): Promise<boolean> {
  return (await stores.threads.readEvents(runId, { from, limit: 1 })).events.length > 0;
}

async function stream(
  { stores, log, streams, metrics, limits: { stallTimeoutMs } }: Service,
  { runId }: Run,
  from: number,
  { caller, reply }: { caller: Caller; reply: Parameters<typeof sendEvents>[0] },
): Promise<void> {
  const controller = new AbortController();
  streams.add(caller, controller);
  try {
    const events = streamRun(stores, log, runId, { from, signal: controller.signal });
    const onDropped = () => metrics.streamDropped();
    await sendEvents(reply, events, { controller, onDropped, stallMs: stallTimeoutMs });
  } finally {
    streams.delete(controller);
  }
}
