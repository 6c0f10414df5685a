import { isFinalRunState } from '@toolscript/core/internal';
import type { Run } from '@toolscript/core/protocol';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../access/index.js';
import { ProblemError } from '../http/problems.js';
import { cancelRun } from '../http/routes/runs.js';
import type { Service } from '../http/service.js';
import { sendFrames } from '../http/sse.js';
import { deleteThread } from '@toolscript/service';
import { DONE_FRAME, followResponse, responseFrame, hasEnded } from './follow-response.js';
import { storedRequest, runTranslator } from './response-resource.js';
import type { ResponseTranslator } from './response-translator.js';
import type { ResponseResource } from './wire.js';

export interface Answer {
  readonly service: Service;
  readonly caller: Caller;
  readonly run: Run;
  readonly include: readonly string[];
  /**
   * Sends only events after this sequence number. With `startingAfter`, the request only reads the response, so the run
   * continues even if the request ends.
   */
  readonly startingAfter?: number | undefined;
}

/**
 * Waits until a response has ended or waits for a user's decision. If the client disconnects, cancels the run, or
 * deletes a response whose request turned storage off.
 */
export async function sendResponse(answer: Answer, reply: FastifyReply): Promise<ResponseResource> {
  const { service, caller, run, include } = answer;
  const translator = runTranslator(run, include);
  const controller = new AbortController();
  await settleAfter(answer, translator, async () => {
    service.streams.add(caller, controller);
    // A closing server waits for open streams, so the stream counts as open until the answer is sent.
    const stop = () => {
      controller.abort();
      service.streams.delete(controller);
    };
    reply.raw.once('finish', stop).once('close', stop);
    if (reply.raw.destroyed) stop();
    for await (const _event of followResponse(service, run, translator, controller.signal));
  });
  // The client must not repeat the request automatically: the run of a stored response continues when a server is
  // available, and a new request would create another run.
  if (!hasEnded(translator))
    throw new ProblemError(503, interruptedMessage(translator), {}, { 'x-should-retry': 'false' });
  return translator.response;
}

function interruptedMessage({ response: { id, store } }: ResponseTranslator): string {
  const cause = 'The server is stopping, or your API key is no longer valid, so the response was interrupted.';
  if (!store) return `${cause} The response is not stored. Send the request again.`;
  return `${cause} Read the response later with GET /v1/responses/${id}.`;
}

export async function streamResponse(answer: Answer, reply: FastifyReply): Promise<FastifyReply> {
  const { service, caller, run, include } = answer;
  const translator = runTranslator(run, include);
  const controller = new AbortController();
  await settleAfter(answer, translator, async () => {
    service.streams.add(caller, controller);
    const frames = responseFrames(answer, translator, controller.signal);
    const { stallTimeoutMs: stallMs } = service.limits;
    const onDropped = () => service.metrics.streamDropped();
    await sendFrames(reply, frames, { controller, onDropped, stallMs }).finally(() =>
      service.streams.delete(controller),
    );
  });
  return reply;
}

async function* responseFrames(
  { service, run, startingAfter = -1 }: Answer,
  translator: ResponseTranslator,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  for await (const event of followResponse(service, run, translator, signal))
    if (event.sequence_number > startingAfter) yield* responseFrame(event);
  if (!hasEnded(translator)) yield* responseFrame(translator.interruptionEvent(interruptedMessage(translator)));
  yield DONE_FRAME;
}

/** Executes `work`, and then calls `settle` unless the request only reads the response. */
async function settleAfter(
  { service, run, startingAfter }: Answer,
  translator: ResponseTranslator,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } finally {
    if (startingAfter === undefined) await settle(service, run, hasEnded(translator));
  }
}

/** Cancels a run that no client waits for, and deletes a response whose request turned storage off. */
async function settle(service: Service, run: Run, isEnded: boolean): Promise<void> {
  const echo = storedRequest(run)?.echo;
  if (echo === undefined || echo.background) return;
  const state = (await service.stores.runs.get(run.runId))?.state;
  if (state === undefined) return;
  if (!echo.store && (!isEnded || isFinalRunState(state))) {
    await deleteThread(service, run.threadId, (runId) => service.worker?.stopDeleted(runId));
  } else if (!isEnded && !service.isDraining) await cancelRun(service, run.runId);
}
