import {
  present,
  ToolscriptUsageError,
  type EventPayload,
  type ModelProvider,
  type ModelRequest,
  type StreamOptions,
} from '../protocol/index.js';
import { RunInterruption } from '../protocol/run-interruption.js';
import { ownService } from '../protocol/model-services.js';
import { newId, sha256 } from '../text/crypto.js';
import { AnswerWriter, type AnswerOrigin, type ProviderApi } from './answer-writer.js';
import { messagesRequest, type MessagesSettings } from './anthropic-messages/encode.js';
import { isThought } from './conversation.js';
import { decodeAnswer, unknownApi } from './decode-stream.js';
import { encodeChat, type ChatSettings } from './openai-chat/encode.js';
import { missingSignature, requiresReasoning } from './openai-chat/servers.js';
import { BackgroundPlace } from './openai-responses/background.js';
import { encodeResponses, storesAnswers, type ResponsesSettings } from './openai-responses/encode.js';
import { mergedBody } from './merged-body.js';
import { createPrompt, type Prompt } from './prompt.js';
import { sleep, SYSTEM_CLOCK, type Clock } from './transport/clock.js';
import { AttemptLimits } from './transport/watched-body.js';
import {
  containerFailure,
  failureOfAnswer,
  keyFailure,
  retryPolicy,
  delayBeforeRetry,
  refusedMember,
  refusesReasoning,
  type RequestFailure,
  type RetryOptions,
  type RetryPolicy,
} from './transport/failures.js';
import { post, type Fetch, type PostResult } from './transport/post.js';
import { endpointUrl, fetchFor, refuseOpenKey } from './transport/endpoint.js';
import { bearer, requestPlace, type RequestPlace } from './transport/platforms.js';
import type { Environment } from './transport/proxy.js';
import { redactor, secretHeaders, type Redact } from './transport/redact.js';
import { withoutHalves } from './wire-values.js';

export interface ProviderOptions {
  /** The provider's name for the model. */
  model: string;
  /** Default: `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL`, else the public API of OpenAI or Anthropic. For Ollama, use `openai-chat`, `OLLAMA_BASE_URL` and no key. */
  baseUrl?: string | undefined;
  /** The key, or a function that returns it before each attempt. */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /** Added to the query of the URL: `api-version` of Azure, for example. */
  query?: Readonly<Record<string, string>> | undefined;
  /** Added to every request. A header of the same name replaces the default. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the global `fetch`. The replacement handles proxies itself. */
  fetch?: Fetch | undefined;
  retries?: RetryOptions | undefined;
  /** Maximum time until the response headers arrive, in ms. Default 120 000. */
  connectTimeoutMs?: number | undefined;
  /** Maximum time between two chunks of an answer, in ms. Default 300 000, also the maximum of Node's `fetch`. */
  idleTimeoutMs?: number | undefined;
  /** Maximum time from a request until the first item of its answer, in ms. Default: the other limits apply alone. */
  firstTokenTimeoutMs?: number | undefined;
  /** Maximum time for a whole answer, in ms. Default 3 600 000. */
  answerTimeoutMs?: number | undefined;
  /** Maximum time for all attempts, the delays between them and the answer, in ms. Default: no limit. */
  totalTimeoutMs?: number | undefined;
  /** Maximum size of the body of an answer, in bytes. Default 134 217 728. */
  maxAnswerBytes?: number | undefined;
  /** Allows sending the key unencrypted to a host other than this machine. Default false. */
  allowInsecureHttp?: boolean | undefined;
  /**
   * Merged into the request body, for options that only one server has: objects are merged, lists such as `tools` are
   * appended, and any other value replaces the default.
   */
  extraBody?: Readonly<Record<string, unknown>> | undefined;
  /** The `service_tier` of every request, such as `flex` and `priority` (OpenAI), `standard_only` (Anthropic). */
  serviceTier?: string | undefined;
  responses?: ResponsesSettings | undefined;
  chat?: ChatSettings | undefined;
  messages?: MessagesSettings | undefined;
  /** The environment that holds the base URLs, `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. Default `process.env`. */
  environment?: Environment | undefined;
  clock?: Clock | undefined;
}

/** The default address of Ollama on this machine. */
export const OLLAMA_BASE_URL = 'http://127.0.0.1:11434/v1';

const DEFAULT_MAX_ANSWER_BYTES = 134_217_728;

interface WireFormat {
  readonly path: string;
  readonly stopSequences: boolean;
  readonly customTools: boolean;
  readonly hostedCode: boolean;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The header with the key. */
  keyHeader(apiKey: string): Record<string, string>;
  encode(prompt: Prompt, options: ProviderOptions, url: URL): EncodedRequest;
}

interface EncodedRequest {
  readonly body: object;
  /** The prefix to which the answer's reasoning is bound, for a format that binds reasoning. */
  readonly prefix?: string | undefined;
}

const OPENAI_HOST = 'api.openai.com';

function isOpenAi(hostname: string): boolean {
  return hostname === OPENAI_HOST || hostname.endsWith('.openai.azure.com');
}

const FORMATS: Readonly<Record<ProviderApi, WireFormat>> = {
  'openai-responses': {
    path: '/responses',
    stopSequences: false,
    customTools: true,
    hostedCode: true,
    keyHeader: bearer,
    encode: (prompt, { responses }, { hostname }) => ({
      body: encodeResponses(prompt, { cacheBreakpoints: hostname === OPENAI_HOST, ...responses }),
    }),
  },
  'openai-chat': {
    path: '/chat/completions',
    stopSequences: true,
    customTools: false,
    hostedCode: false,
    keyHeader: bearer,
    encode: (prompt, { chat }, { hostname }) => ({
      body: encodeChat(prompt, {
        ...(isOpenAi(hostname) ? { maxTokensName: 'max_completion_tokens', toolsWithReasoning: false } : {}),
        cacheBreakpoints: hostname === OPENAI_HOST,
        ...(requiresReasoning(hostname) ? { emptyReasoning: true } : {}),
        missingSignature: missingSignature(hostname, prompt.model),
        ...chat,
      }),
    }),
  },
  'anthropic-messages': {
    path: '/v1/messages',
    stopSequences: true,
    customTools: false,
    hostedCode: true,
    headers: { 'anthropic-version': '2023-06-01' },
    keyHeader: (apiKey) => ({ 'x-api-key': apiKey }),
    encode: (prompt, { messages }) => messagesRequest(prompt, messages),
  },
};

/**
 * A model with one of the three wire formats. Failures are emitted in the stream: `response_error` with `code`,
 * `message`, `retryable`, `attempts` and, if there was a response, `status` and `request_id`, then `response_done`. A
 * retryable failure is retried until an item of the answer starts, never after that; `request_retry` reports the delay
 * before each retry.
 *
 * @throws ToolscriptUsageError for an unknown api, a missing model, an invalid URL, or a key that would be sent
 * unencrypted.
 */
export function createProvider(api: ProviderApi, options: ProviderOptions): ModelProvider {
  if (!Object.hasOwn(FORMATS, api)) throw unknownApi(api);
  if (typeof options.model !== 'string' || options.model === '')
    throw new ToolscriptUsageError('PROVIDER_WITHOUT_MODEL');
  const line = new ModelLine(api, options);
  const { stopSequences, customTools, hostedCode } = FORMATS[api];
  return Object.freeze({
    api,
    model: options.model,
    capabilities: Object.freeze({ stopSequences, customTools, hostedCode }),
    stream: (request: ModelRequest, streamOptions: StreamOptions = {}) => line.stream(request, streamOptions),
  });
}

/**
 * Asks the service for its list of models, which costs nothing and needs a valid key. Rejects if the service cannot be
 * reached.
 *
 * @throws ToolscriptUsageError for an invalid URL, or a key that would be sent unencrypted.
 */
export function askForModels(
  api: ProviderApi,
  { baseUrl, apiKey, signal }: { readonly baseUrl: string; readonly apiKey: string; readonly signal: AbortSignal },
): Promise<Response> {
  const format = FORMATS[api];
  const models = format.path.replace(/\/(?:responses|chat\/completions|messages)$/u, '/models');
  const place = requestPlace(endpointUrl(baseUrl), { path: models, model: '' });
  refuseOpenKey(place.url, { apiKey });
  const all = { ...format.headers, ...(place.keyHeader?.(apiKey) ?? format.keyHeader(apiKey)) };
  return fetchFor(place.url, process.env)(place.url.href, { headers: all, redirect: 'error', signal });
}

/**
 * Sends requests to one model, one attempt after the other:
 *
 *   asking ──a response──▶ opening ──the first item──▶ emitting ──▶ done
 *     ▲  │ failure            │ the answer fails before its first item
 *     │  ▼                    ▼
 *   waiting ◀── retryable ────┴── not retryable ──▶ done (the failure is emitted)
 *
 * An abort ends each state: `response_done` has the status `cancelled`.
 */
class ModelLine {
  readonly #api: ProviderApi;
  readonly #options: ProviderOptions;
  readonly #place: RequestPlace;
  readonly #url: URL;
  readonly #fetch: Fetch;
  readonly #clock: Clock;
  readonly #retries: RetryPolicy;
  /** Redacts the newest key and the secret headers. */
  #redact: Redact;
  /** The optional members of the body that the service has refused. */
  readonly #refused = new Set<string>();
  /** The ids of the items of reasoning that the service could not verify. */
  readonly #unverified = new Set<string>();

  constructor(api: ProviderApi, options: ProviderOptions) {
    const format = FORMATS[api];
    this.#api = api;
    this.#options = options;
    const { environment = process.env } = options;
    const baseUrl = options.baseUrl ?? ownService(api, environment)!.baseUrl;
    this.#place = requestPlace(endpointUrl(baseUrl, options.query), { path: format.path, model: options.model });
    this.#url = this.#place.url;
    this.#fetch = options.fetch ?? fetchFor(this.#url, environment);
    // defence: key-over-plain-http
    refuseOpenKey(this.#url, options);
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#retries = retryPolicy(options.retries);
    this.#redact = this.#keyRedactor(typeof options.apiKey === 'string' ? options.apiKey : undefined);
  }

  async *stream(
    request: ModelRequest,
    { signal, answerId = newId('ans'), headers, continues }: StreamOptions,
  ): AsyncGenerator<EventPayload> {
    if (continues !== undefined) return yield* this.#continue(continues.responseId, { signal, answerId, headers });
    let { body, container, origin } = await this.#encode(request);
    const limits = new AttemptLimits(this.#clock, this.#options);
    for (let retries = 0; ; retries += 1) {
      const sent = Object.fromEntries(Object.entries(body).filter(([name]) => !this.#refused.has(name)));
      const { conversation } = request;
      const sending: Sending = { limits, signal, headers, conversation };
      const answered = await this.#attempt({ url: this.#url, body: bodyText(sent) }, sending);
      const posted = container === undefined ? answered : withContainerFailure(answered);
      const failure =
        this.#noteRefusal(posted, sent) ?? (yield* this.#emit(posted, { answerId, retries, origin, ...sending }));
      if (failure === undefined) return;
      if (failure.changesRequest === true) ({ body, container, origin } = await this.#encode(request));
      yield this.#redact(retryEvent(failure, retries));
      await sleep(this.#clock, failure.delayMs, signal);
      if (signal?.aborted === true) return yield* this.#writeCancellation(answerId);
    }
  }

  /** Emits an answer that an earlier process began, from its beginning. */
  async *#continue(
    responseId: string,
    { signal, answerId, headers }: Pick<Attempt, 'signal' | 'answerId' | 'headers'>,
  ): AsyncGenerator<EventPayload> {
    const limits = new AttemptLimits(this.#clock, this.#options);
    const attempt: Attempt = { limits, signal, headers, answerId, retries: 0, origin: this.#origin() };
    const place = new BackgroundPlace(this.#api === 'openai-responses' ? responseId : undefined);
    const posted = await this.#openRest(place, attempt);
    if (signal?.aborted === true) return yield* this.#writeCancellation(answerId);
    if (posted === undefined) return yield* this.#writeFailure(LOST_ANSWER, attempt);
    const retry = yield* this.#emitBackground(posted, attempt, place);
    if (retry !== undefined) yield* this.#writeFailure(retry.failure, attempt);
  }

  #origin(prefix?: string): AnswerOrigin {
    const { model, responses } = this.#options;
    const stored = this.#api === 'openai-responses' && storesAnswers(responses) ? true : undefined;
    return { model, service: this.#service, ...present({ prefix, stored }) };
  }

  /** Names the service: a hash of its host. */
  get #service(): string {
    return sha256(this.#url.hostname).slice(0, 12);
  }

  async #encode(request: ModelRequest): Promise<{ body: object; container: string | undefined; origin: AnswerOrigin }> {
    const { model, serviceTier, extraBody } = this.#options;
    const asked = { service: this.#service, now: this.#clock.now() };
    const conversation = request.conversation.filter(({ id }) => !this.#unverified.has(id));
    const prompt = await createPrompt(this.#api, model, { ...request, conversation }, asked);
    const { body, prefix } = FORMATS[this.#api].encode(prompt, this.#options, this.#url);
    const placed = { ...(this.#place.body?.(body) ?? body), ...present({ service_tier: serviceTier }) };
    return { body: mergedBody(placed, extraBody), container: prompt.container, origin: this.#origin(prefix) };
  }

  /** Notes the member because of which the service refused the request, which is then sent without it. */
  #noteRefusal(posted: PostResult, body: Record<string, unknown>): Retry | undefined {
    const member = posted.type === 'failure' ? refusedMember(posted.failure, body) : undefined;
    if (posted.type !== 'failure' || member === undefined) return undefined;
    this.#refused.add(member);
    return { failure: posted.failure, delayMs: 0 };
  }

  /** Notes the reasoning of the conversation, without which the request is sent again. Returns whether there is any. */
  #leaveOutReasoning(conversation: ModelRequest['conversation'] = []): boolean {
    const sent = conversation.filter((item) => isThought(item) && !this.#unverified.has(item.id));
    for (const { id } of sent) this.#unverified.add(id);
    return sent.length > 0;
  }

  #keyRedactor(apiKey: string | undefined): Redact {
    return redactor([apiKey, ...secretHeaders(this.#options.headers)]);
  }

  async #attempt(target: Target, sending: Sending): Promise<PostResult> {
    const { apiKey: given } = this.#options;
    if (typeof given !== 'function') return this.#post(target, sending, given);
    let apiKey: string;
    try {
      apiKey = await given();
    } catch (error) {
      return { type: 'failure', failure: keyFailure(error) };
    }
    this.#redact = this.#keyRedactor(apiKey);
    return this.#post(target, sending, apiKey);
  }

  #post(
    { url, body }: Target,
    { limits, signal, headers: ofRequest }: Sending,
    apiKey: string | undefined,
  ): Promise<PostResult> {
    const { headers, maxAnswerBytes } = this.#options;
    const format = FORMATS[this.#api];
    const all = {
      ...lowerCaseHeaders(ofRequest),
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...format.headers,
      ...(apiKey === undefined ? {} : (this.#place.keyHeader ?? ((key: string) => format.keyHeader(key)))(apiKey)),
      ...lowerCaseHeaders(headers),
    };
    return post(
      { url: url.href, headers: all, body, signal },
      {
        fetch: this.#fetch,
        clock: this.#clock,
        ...limits.nextAttempt(),
        maxAnswerBytes: maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
      },
    );
  }

  /** Emits the result of an attempt. Returns the failure instead if no item has started and a retry may help. */
  async *#emit(posted: PostResult, attempt: Attempt): AsyncGenerator<EventPayload, Retry | undefined> {
    switch (posted.type) {
      case 'aborted':
        yield* this.#writeCancellation(attempt.answerId);
        return undefined;
      case 'failure': {
        const retry = this.#nextRetry(posted.failure, attempt);
        if (retry === undefined) yield* this.#writeFailure(posted.failure, attempt);
        return retry;
      }
      case 'answer':
        return yield* this.#emitAnswer(posted, attempt);
    }
  }

  #nextRetry(failure: RequestFailure, { retries, limits, conversation }: Attempt): Retry | undefined {
    if (refusesReasoning(failure) && this.#leaveOutReasoning(conversation))
      return { failure, delayMs: 0, changesRequest: true };
    const delayMs = delayBeforeRetry(failure, retries, this.#retries, this.#clock);
    return delayMs === undefined || delayMs >= limits.leftMs ? undefined : { failure, delayMs };
  }

  /**
   * Holds the first events back until an item starts, because a request whose answer fails earlier may be sent again.
   */
  async *#emitAnswer(posted: PostedAnswer, attempt: Attempt): AsyncGenerator<EventPayload, Retry | undefined> {
    const isBackground = this.#api === 'openai-responses' && this.#options.responses?.background === true;
    return yield* this.#emitBackground(posted, attempt, isBackground ? new BackgroundPlace() : undefined);
  }

  async *#emitBackground(
    posted: PostedAnswer,
    attempt: Attempt,
    place: BackgroundPlace | undefined,
  ): AsyncGenerator<EventPayload, Retry | undefined> {
    try {
      return yield* this.#emitBody(posted, attempt, place);
    } finally {
      // The service would continue an answer that nobody reads. Another process reads that of an interrupted run.
      const url = place?.cancellation(this.#url);
      if (url !== undefined && !(attempt.signal?.reason instanceof RunInterruption)) void this.#cancel(url, attempt);
    }
  }

  async *#emitBody(
    posted: PostedAnswer,
    attempt: Attempt,
    place: BackgroundPlace | undefined,
  ): AsyncGenerator<EventPayload, Retry | undefined> {
    let held: EventPayload[] | undefined = [];
    let isAnnounced = false;
    const { answerId, origin } = attempt;
    const rest = place && { place, open: async () => (await this.#openRest(place, attempt))?.body };
    for await (const payloads of decodeAnswer(this.#api, posted.body, answerId, origin, rest)) {
      const { id } = place ?? {};
      if (id !== undefined && !isAnnounced) yield this.#announcement(id, answerId);
      isAnnounced = id !== undefined;
      if (held !== undefined) {
        held.push(...payloads);
        const failure = failureIn(held, posted);
        const retry = failure && this.#nextRetry(failure, attempt);
        if (retry !== undefined) return retry;
        if (!held.some(({ type }) => SAYS_SOMETHING.includes(type))) continue;
        posted.onFirstItem();
      }
      for (const payload of held ?? payloads) yield this.#withCircumstances(payload, posted, attempt);
      held = undefined;
    }
    return undefined;
  }

  #announcement(responseId: string, answerId: string): EventPayload {
    return { type: 'background_answer', answer_id: answerId, response_id: responseId, model: this.#options.model };
  }

  /** Opens the rest of a background answer. Attempts that fail are repeated as often as those of a request. */
  async #openRest(place: BackgroundPlace, attempt: Attempt): Promise<PostedAnswer | undefined> {
    for (;;) {
      const rest = place.rest(this.#url);
      if (rest === undefined || rest.attempts > this.#retries.maxRetries) return undefined;
      const posted = await this.#attempt({ url: rest.url, body: undefined }, attempt);
      if (posted.type === 'aborted') return undefined;
      if (posted.type === 'answer') {
        posted.onFirstItem();
        return posted;
      }
      const retry = this.#nextRetry(posted.failure, { ...attempt, retries: rest.attempts });
      if (retry === undefined) return undefined;
      await sleep(this.#clock, retry.delayMs, attempt.signal);
    }
  }

  /** Never rejects. A service that does not cancel the answer continues it. */
  async #cancel(url: URL, { limits, headers }: Attempt): Promise<void> {
    const posted = await this.#attempt({ url, body: '{}' }, { limits, headers, signal: undefined });
    if (posted.type !== 'answer') return;
    try {
      for await (const _ of posted.body);
    } catch {
      // The request has arrived.
    }
  }

  #withCircumstances(payload: EventPayload, posted: PostedAnswer, { retries }: Attempt): EventPayload {
    if (payload.type === 'response_start') return { ...payload, ...headerMembers(posted) };
    if (payload.type !== 'response_error') return payload;
    const failure = failureOfAnswer(payload, posted);
    return this.#redact({ ...payload, ...failureCircumstances(failure, retries + 1) });
  }

  *#writeFailure(
    failure: RequestFailure,
    { answerId, retries }: Pick<Attempt, 'answerId' | 'retries'>,
  ): Generator<EventPayload> {
    const { code, message, native } = failure;
    const writer = new AnswerWriter(this.#api, answerId);
    const details = failureCircumstances(failure, retries + 1);
    writer.fail({ code, message, native }, {}, details);
    for (const payload of writer.take()) yield this.#redact(payload);
  }

  *#writeCancellation(answerId: string): Generator<EventPayload> {
    const writer = new AnswerWriter(this.#api, answerId);
    writer.cancel({ reason: 'The caller aborted the answer.' });
    yield* writer.take();
  }
}

const LOST_ANSWER: RequestFailure = {
  code: 'BackgroundAnswerLost',
  message: 'The service no longer has the background answer that the run waited for. Send the request again.',
  retryable: false,
};

/** The URL of a request and its body. A request without a body reads. */
interface Target {
  readonly url: URL;
  readonly body: string | undefined;
}

interface Sending {
  readonly limits: AttemptLimits;
  readonly signal: AbortSignal | undefined;
  readonly headers: StreamOptions['headers'];
  /** The conversation of the request; undefined for a request without one. */
  readonly conversation?: ModelRequest['conversation'] | undefined;
}

interface Attempt extends Sending {
  readonly answerId: string;
  /** The number of attempts before this one. */
  readonly retries: number;
  readonly origin: AnswerOrigin;
}

/**
 * Converts the failure of a request that names a container of the provider's code, if the provider no longer has the
 * container.
 */
function withContainerFailure(posted: PostResult): PostResult {
  return posted.type === 'failure' ? { type: 'failure', failure: containerFailure(posted.failure) } : posted;
}

interface Retry {
  readonly failure: RequestFailure;
  readonly delayMs: number;
  /** True: the request must be encoded again. */
  readonly changesRequest?: boolean;
}

type PostedAnswer = Extract<PostResult, { type: 'answer' }>;

const SAYS_SOMETHING: readonly string[] = ['item_start', 'response_done'];

function bodyText(body: object): string {
  const json = JSON.stringify(body);
  // defence: no-half-characters
  return withoutHalves(json);
}

/** The members of `response_start` that come from the headers of the response. */
function headerMembers({ requestId, rateLimits }: PostedAnswer): Record<string, unknown> {
  return present({ request_id: requestId, rate_limits: rateLimits.length === 0 ? undefined : rateLimits });
}

function retryEvent({ failure, delayMs }: Retry, retries: number): EventPayload {
  const { code, message } = failure;
  return { ...failureCircumstances(failure, retries + 1), type: 'request_retry', code, message, delay_ms: delayMs };
}

function failureCircumstances({ retryable, status, requestId, retryAfterMs }: RequestFailure, attempts: number) {
  return { retryable, attempts, status, request_id: requestId, retry_after_ms: retryAfterMs };
}

/** The failure of an answer before its first item; undefined if an item has started or there is no failure. */
function failureIn(payloads: readonly EventPayload[], posted: PostedAnswer): RequestFailure | undefined {
  if (payloads.some(({ type }) => type === 'item_start')) return undefined;
  const error = payloads.find((payload) => payload.type === 'response_error');
  return error?.type === 'response_error' ? failureOfAnswer(error, posted) : undefined;
}

function lowerCaseHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
