import { isFinalRunState, limitedSignal } from '@toolscript/core/internal';
import type { Run } from '@toolscript/core/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { cancelRun } from '../http/routes/runs.js';
import { sendSlices } from '../http/text-slices.js';
import type { Service } from '../http/service.js';
import { allRuns, deleteThread, storedEvents, streamRun } from '@toolscript/service';
import { requestTrace } from '../observability/index.js';
import { answerWithApiErrors, apiError, invalidBody } from './api-errors.js';
import { createRun } from './create-run.js';
import { InputItemsQuery, inputItemsPage } from './input-items-page.js';
import { modelRoutes } from './models.js';
import { CreateResponseSchema, type CreateResponse } from './request-schema.js';
import { runResponse, responseRunId, responseTexts, storedRequest } from './response-resource.js';
import { sendResponse, streamResponse } from './send-response.js';
import { DeletedResponseSchema, InputItemsSchema, ResponseSchema } from './wire.js';

/** Maximum time that a cancellation waits for the run's end, in ms. */
const CANCEL_WAIT_MS = 10_000;

const Parameters = z.object({ responseId: z.string().max(200) });

/** The official client sends the parameter `include` as `include[]`. */
const Include = z.union([z.string(), z.array(z.string())]).optional();
const IncludeQuery = z.object({ include: Include, 'include[]': Include });

/** With `stream`, each event has a `data` of the second form. */
const STREAMED_OR_WHOLE = {
  'application/json': ResponseSchema,
  'text/event-stream': z.looseObject({ type: z.string(), sequence_number: z.number().int() }),
};

/** The routes under `/v1`, for clients of the OpenAI Responses API. */
export async function responseRoutes(app: FastifyInstance, service: Service): Promise<void> {
  answerWithApiErrors(app);
  createRoute(typedApp(app), service);
  readingRoutes(typedApp(app), service);
  changingRoutes(typedApp(app), service);
  modelRoutes(app, service);
}

function typedApp(app: FastifyInstance) {
  return app.withTypeProvider<ZodTypeProvider>();
}

type Routes = ReturnType<typeof typedApp>;

function createRoute(app: Routes, service: Service): void {
  app.route({
    method: 'POST',
    url: '/responses',
    config: { scope: 'run', audit: 'run_submitted' },
    schema: {
      operationId: 'createResponse',
      description: 'Open Responses: answers an input, at once or as a stream of events.',
      body: CreateResponseSchema,
      answers: { 200: STREAMED_OR_WHOLE },
    },
    // The handler validates the body itself, because the errors of this API name the invalid member.
    validatorCompiler: () => (value) => ({ value }),
    handler: async (request, reply) => {
      const body = readBody(request.body);
      const run = await createRun(service, request.caller.principal, body, requestTrace(request.raw.headers));
      service.requestAudit.note(request, { runId: run.runId, threadId: run.threadId });
      const answer = { service, caller: request.caller, run, include: [] };
      if (body.stream === true) return streamResponse(answer, reply);
      if (body.background === true) return runResponse(run, [], []);
      return sendSlices(reply, responseTexts(await sendResponse(answer, reply)));
    },
  });
}

function readBody(value: unknown): CreateResponse {
  const parsed = CreateResponseSchema.safeParse(value);
  if (!parsed.success) throw invalidBody(parsed.error);
  if (parsed.data.background === true && parsed.data.store === false)
    throw apiError(400, '"background" needs "store": the response is read later. Omit "store".', {
      param: 'background',
      code: 'invalid_value',
    });
  return parsed.data;
}

function readingRoutes(app: Routes, service: Service): void {
  app.route({
    method: 'GET',
    url: '/responses/:responseId',
    config: { scope: 'read' },
    schema: {
      operationId: 'getResponse',
      description:
        'Open Responses: shows a response. "stream=true" streams its events, after the event that "starting_after" names.',
      params: Parameters,
      querystring: IncludeQuery.extend({
        stream: z.enum(['true', 'false']).optional(),
        starting_after: z.coerce.number().int().min(0).optional(),
        include_obfuscation: z.string().optional(),
      }),
      answers: { 200: STREAMED_OR_WHOLE },
    },
    handler: async (request, reply) => {
      const run = await ownResponse(service, request);
      const include = [request.query.include ?? [], request.query['include[]'] ?? []].flat();
      if (request.query.stream !== 'true') {
        const response = await runResponse(run, storedEvents(service.stores, run.runId), include);
        service.streams.addResponse(request.caller, reply);
        return sendSlices(reply, responseTexts(response));
      }
      const startingAfter = request.query.starting_after ?? -1;
      return streamResponse({ service, caller: request.caller, run, include, startingAfter }, reply);
    },
  });

  app.route({
    method: 'GET',
    url: '/responses/:responseId/input_items',
    config: { scope: 'read' },
    schema: {
      operationId: 'listInputItems',
      description: 'Open Responses: lists the items of the request, the last one first unless "order=asc".',
      params: Parameters,
      querystring: IncludeQuery.extend(InputItemsQuery.shape),
      response: { 200: InputItemsSchema },
    },
    handler: async (request) => inputItemsPage(service, await ownResponse(service, request), request.query),
  });
}

function changingRoutes(app: Routes, service: Service): void {
  app.route({
    method: 'POST',
    url: '/responses/:responseId/cancel',
    config: { scope: 'run', audit: 'run_cancelled' },
    schema: {
      operationId: 'cancelResponse',
      description: 'Open Responses: cancels a response. A response that has ended stays unchanged.',
      params: Parameters,
      response: { 200: ResponseSchema },
    },
    handler: async (request, reply) => {
      const run = await ownResponse(service, request);
      service.streams.addResponse(request.caller, reply);
      service.requestAudit.note(request, { runId: run.runId, threadId: run.threadId });
      if (!isFinalRunState(run.state)) await cancelAndWait(service, run);
      const now = await ownResponse(service, request);
      return sendSlices(reply, responseTexts(await runResponse(now, storedEvents(service.stores, run.runId), [])));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/responses/:responseId',
    config: { scope: 'run', audit: 'thread_deleted' },
    schema: {
      operationId: 'deleteResponse',
      description: 'Open Responses: deletes a response if it is the only one of its conversation.',
      params: Parameters,
      response: { 200: DeletedResponseSchema },
    },
    handler: async (request) => {
      const { threadId, runId } = await ownResponse(service, request);
      const all = await allRuns(service.stores, threadId);
      // Its branch has copies of the earlier responses, which no client knows.
      if (all.some((other) => other.runId !== runId && other.isCopy !== true))
        throw apiError(
          400,
          `The conversation of this response contains other responses. Delete all of it with DELETE /api/v2/threads/${threadId}.`,
          { code: 'response_in_conversation' },
        );
      await deleteThread(service, threadId, (ended) => service.worker?.stopDeleted(ended));
      service.requestAudit.note(request, { runId, threadId });
      return { id: request.params.responseId, object: 'response' as const, deleted: true as const };
    },
  });
}

async function cancelAndWait(service: Service, { runId }: Run): Promise<void> {
  await cancelRun(service, runId);
  const signal = limitedSignal(CANCEL_WAIT_MS);
  for await (const _event of streamRun(service.stores, service.log, runId, { from: 0, signal }));
}

async function ownResponse({ stores }: Service, request: FastifyRequest): Promise<Run> {
  const { responseId } = request.params as { responseId: string };
  const runId = responseRunId(responseId);
  const { principal } = request.caller;
  // defence: response-of-the-caller
  const run = runId === undefined ? undefined : await stores.runs.get(runId, { principal });
  if (run === undefined || isGone(run))
    throw apiError(404, `You have no response ${JSON.stringify(responseId)}. Correct the id.`, {
      param: 'response_id',
      code: 'response_not_found',
    });
  return run;
}

/** Whether the server will delete the response shortly: the response has ended, and its request turned storage off. */
function isGone(run: Run): boolean {
  return storedRequest(run)?.echo.store === false && isFinalRunState(run.state);
}
