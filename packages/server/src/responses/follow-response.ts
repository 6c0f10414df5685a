import type { Run } from '@toolscript/core/protocol';
import type { Service } from '../http/service.js';
import { streamRun } from '@toolscript/service';
import type { ResponseTranslator } from './response-translator.js';
import { responseTexts } from './response-resource.js';
import type { ResponseResource, WireEvent } from './wire.js';

/** The events of a response from the first event, until the response has ended or waits for a user's decision. */
export async function* followResponse(
  { stores, log }: Service,
  { runId }: Run,
  translator: ResponseTranslator,
  signal: AbortSignal,
): AsyncGenerator<WireEvent, void, undefined> {
  yield* translator.read();
  for await (const event of streamRun(stores, log, runId, { from: 0, signal })) {
    translator.take(event);
    const events = translator.read();
    if (event.payload.type !== 'response_done' || event.payload.status !== 'suspended') yield* events;
    else if ((await stores.runs.get(runId))?.state === 'suspended') return yield* events;
    // Any other state means that the run was resumed, and the loop continues.
  }
}

/** Whether the translated events contain the end of the response. */
export function hasEnded({ response: { status } }: ResponseTranslator): boolean {
  return status !== 'queued' && status !== 'in_progress';
}

/** The parts of an event's frame. A response may be long. */
export function* responseFrame({ response, ...event }: WireEvent): Generator<string, void, undefined> {
  yield `event: ${event.type}\ndata: ${JSON.stringify(event).slice(0, response === undefined ? undefined : -1)}`;
  if (response !== undefined) {
    yield ',"response":';
    yield* responseTexts(response as ResponseResource);
    yield '}';
  }
  yield '\n\n';
}

/** The last frame of every stream. */
export const DONE_FRAME = 'data: [DONE]\n\n';
