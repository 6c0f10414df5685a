import {
  EventEnvelopes,
  ToolscriptUsageError,
  type EventPayload,
  type RunIdentity,
  type StreamEvent,
} from '../protocol/index.js';
import { newId } from '../text/crypto.js';
import { AnswerWriter, PROVIDER_APIS, type AnswerOrigin, type ProviderApi } from './answer-writer.js';
import { AnthropicMessagesDecoder } from './anthropic-messages/decode.js';
import { readBody, type AnswerBody, type WireEvent } from './body.js';
import type { WireDecoder } from './decoder.js';
import { OpenAiChatDecoder } from './openai-chat/decode.js';
import type { BackgroundPlace } from './openai-responses/background.js';
import { OpenAiResponsesDecoder } from './openai-responses/decode.js';
import { wireMembers, wireText } from './wire-values.js';

const DECODERS: Readonly<Record<ProviderApi, new (writer: AnswerWriter) => WireDecoder>> = {
  'openai-responses': OpenAiResponsesDecoder,
  'openai-chat': OpenAiChatDecoder,
  'anthropic-messages': AnthropicMessagesDecoder,
};

const TRUNCATED = {
  code: 'AnswerTruncated',
  message: 'The answer ended before the provider marked it as complete. Send the request again.',
};

/**
 * Reads the HTTP body of a model's answer: a stream of server-sent events, or the JSON of an answer or an error that
 * was not streamed. The events form one run: `response_start`, items, usage, and one `response_done` at the end. The
 * function never throws because of the body: an interrupted answer, an error of the provider and a body of another
 * format end in `response_error` and a `response_done` with the status `failed`. Reading stops at the end of the
 * answer, or earlier when the caller stops.
 *
 * @throws ToolscriptUsageError for an unknown api.
 */
export function decodeStream(
  api: ProviderApi,
  body: AnswerBody,
  identity: Partial<RunIdentity> = {},
): AsyncIterable<StreamEvent> {
  const run: RunIdentity = {
    runId: identity.runId ?? newId('run'),
    threadId: identity.threadId ?? newId('thr'),
    turnId: identity.turnId ?? newId('turn'),
  };
  return envelopeEvents(decodeAnswer(api, body, run.runId), run);
}

/** The rest of an answer that its service continues without a connection. */
export interface BackgroundRest {
  readonly place: BackgroundPlace;
  /** The body that continues after the last event; undefined if it cannot be read. */
  open(): Promise<AnswerBody | undefined>;
}

/**
 * Like `decodeStream`, but yields only the payloads, grouped by wire message. `answerId` names the answer: the items
 * carry this id, and their own ids start with it. `origin`: the model and the request of the answer. `rest` continues
 * a body whose connection was lost.
 */
export function decodeAnswer(
  api: ProviderApi,
  body: AnswerBody,
  answerId: string,
  origin?: AnswerOrigin,
  rest?: BackgroundRest,
): AsyncGenerator<readonly EventPayload[], void, undefined> {
  const Decoder = Object.hasOwn(DECODERS, api) ? DECODERS[api] : undefined;
  if (Decoder === undefined) throw unknownApi(api);
  const writer = new AnswerWriter(api, answerId, origin);
  return payloadBatches(new Decoder(writer), writer, wireEvents(body, rest));
}

export function unknownApi(api: string): ToolscriptUsageError {
  return new ToolscriptUsageError('UNKNOWN_PROVIDER_API', { api, known: PROVIDER_APIS.join(', ') });
}

async function* wireEvents(body: AnswerBody, rest?: BackgroundRest): AsyncGenerator<WireEvent, void, undefined> {
  for (let current: AnswerBody | undefined = body; current !== undefined;) {
    let loss: WireEvent | undefined;
    for await (const event of readBody(current)) {
      rest?.place.see(event);
      if (rest?.place.isLoss(event) === true) loss = event;
      else yield event;
    }
    current = loss === undefined ? undefined : await rest?.open();
    if (loss !== undefined && current === undefined) yield loss;
  }
}

async function* payloadBatches(
  decoder: WireDecoder,
  writer: AnswerWriter,
  events: AsyncIterable<WireEvent>,
): AsyncGenerator<readonly EventPayload[], void, undefined> {
  for await (const event of events) {
    const foreign = writer.isStarted ? undefined : foreignFormat(writer.api, event);
    if (foreign === undefined) feed(decoder, writer, event);
    else writer.fail(foreignFailure(writer.api, foreign));
    const payloads = writer.take();
    if (payloads.length > 0) yield payloads;
    if (writer.isEnded) return;
  }
}

/** The wire format of the message, if it is known and differs from the provider's. */
function foreignFormat(api: ProviderApi, event: WireEvent): ProviderApi | undefined {
  const format = event.type === 'event' || event.type === 'whole' ? messageFormat(event.data) : undefined;
  return format === api ? undefined : format;
}

function foreignFailure(api: ProviderApi, format: ProviderApi): { code: string; message: string } {
  const message = `The server answers in the format ${format}, but api is set to "${api}". Set api to "${format}", or use another baseUrl.`;
  return { code: 'ProviderFormat', message };
}

function feed(decoder: WireDecoder, writer: AnswerWriter, event: WireEvent): void {
  switch (event.type) {
    case 'event':
      // defence: repeated-event
      if (event.isRepeat === true && !decoder.mayRepeat(event)) return;
      return decoder.read(event);
    case 'whole':
      return decoder.readWhole(event.data);
    case 'done_marker':
      return decoder.readDoneMarker();
    case 'broken':
      decoder.readBreak?.();
      return event.code === 'AnswerAborted' ? writer.cancel({ reason: event.message }) : writer.fail(event);
    case 'body_end':
      decoder.readEnd();
      if (!writer.isEnded) decoder.readBreak?.();
      return writer.fail(TRUNCATED);
  }
}

async function* envelopeEvents(
  batches: AsyncIterable<readonly EventPayload[]>,
  run: RunIdentity,
): AsyncGenerator<StreamEvent> {
  const envelopes = new EventEnvelopes(run);
  for await (const payloads of batches) for (const payload of payloads) yield envelopes.next(payload);
}

const MESSAGES_EVENT = /^(?:message_(?:start|delta|stop)|content_block_(?:start|delta|stop))$/u;
const RESPONSES_EVENT =
  /^response\.(?:created|queued|in_progress|completed|incomplete|failed|output_text\.delta|output_item\.(?:added|done))$/u;

/** The wire format that the message itself names; undefined for errors and messages that every format may have. */
function messageFormat(data: unknown): ProviderApi | undefined {
  const { object, type, role, content } = wireMembers(data);
  const [kind, name] = [wireText(object) ?? '', wireText(type) ?? ''];
  if (kind.startsWith('chat.completion')) return 'openai-chat';
  if (kind === 'response' || RESPONSES_EVENT.test(name)) return 'openai-responses';
  const isMessage = name === 'message' && role === 'assistant' && Array.isArray(content);
  return isMessage || MESSAGES_EVENT.test(name) ? 'anthropic-messages' : undefined;
}
