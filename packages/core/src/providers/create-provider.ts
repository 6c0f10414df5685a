import { ToolscriptUsageError } from '../protocol/index.js';
import type { EventPayload, ModelProvider, ModelRequest, StreamOptions } from '../protocol/index.js';
import { newId } from '../text/new-id.js';
import { AnswerWriter, type ProviderApi } from './answer-writer.js';
import { encodeMessages, type MessagesSettings } from './anthropic-messages/encode.js';
import { decodeAnswer, unknownApi } from './decode-stream.js';
import { encodeChat, type ChatSettings } from './openai-chat/encode.js';
import { requiresReasoning } from './openai-chat/servers.js';
import { encodeResponses, type ResponsesSettings } from './openai-responses/encode.js';
import { promptOf, type Prompt } from './prompt.js';
import { sleep, SYSTEM_CLOCK, type Clock } from './transport/clock.js';
import { isPassing } from './transport/failures.js';
import type { RequestFailure } from './transport/request-failure.js';
import { post, type Fetch, type Posted } from './transport/post.js';
import { proxyFetch, proxyFor, type Environment } from './transport/proxy.js';
import { redactor, type Redact } from './transport/redact.js';
import { withoutHalves } from './wire-values.js';
import { DEFAULT_RETRIES, delayBeforeRetry, type RetryOptions, type RetryPolicy } from './transport/retry.js';

export interface ProviderOptions {
  /** The provider's name of the model. */
  model: string;
  /** Default: the public API of OpenAI or Anthropic. For Ollama, use `openai-chat`, `OLLAMA_BASE_URL` and no key. */
  baseUrl?: string;
  apiKey?: string;
  /** Added to every request. A header of the same name replaces the default. */
  headers?: Readonly<Record<string, string>>;
  /** Replaces the global `fetch`. It then handles proxies itself. */
  fetch?: Fetch;
  retries?: RetryOptions;
  /** Maximum time until the response head arrives, in ms. Default 120 000. */
  connectTimeoutMs?: number;
  /** Maximum time between two chunks of an answer, in ms. Default 300 000, also the maximum of Node's `fetch`. */
  idleTimeoutMs?: number;
  /** Maximum time for a whole answer, in ms. Default 3 600 000. */
  answerTimeoutMs?: number;
  /** Maximum size of a whole answer on the network, in bytes. Default 134 217 728. */
  maxAnswerBytes?: number;
  /** Allows sending the key unencrypted to a host other than this machine. Default false. */
  allowInsecureHttp?: boolean;
  /** Added unchanged to the request body, where it overrides our members: for options that only one server has. */
  extraBody?: Readonly<Record<string, unknown>>;
  responses?: ResponsesSettings;
  chat?: ChatSettings;
  messages?: MessagesSettings;
  /** The environment that holds `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. Default `process.env`. */
  environment?: Environment;
  clock?: Clock;
}

/** The default address of Ollama on this machine. */
export const OLLAMA_BASE_URL = 'http://127.0.0.1:11434/v1';

const DEFAULT_CONNECT_TIMEOUT_MS = 120_000;
const DEFAULT_IDLE_TIMEOUT_MS = 300_000;
const DEFAULT_ANSWER_TIMEOUT_MS = 3_600_000;
const DEFAULT_MAX_ANSWER_BYTES = 134_217_728;

interface WireFormat {
  readonly baseUrl: string;
  readonly path: string;
  readonly stopSequences: boolean;
  readonly customTools: boolean;
  headers(apiKey: string | undefined): Record<string, string>;
  encode(prompt: Prompt, options: ProviderOptions, url: URL): object;
}

const bearer = (apiKey: string | undefined): Record<string, string> =>
  apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };

const FORMATS: Readonly<Record<ProviderApi, WireFormat>> = {
  'openai-responses': {
    baseUrl: 'https://api.openai.com/v1',
    path: '/responses',
    stopSequences: false,
    customTools: true,
    headers: bearer,
    encode: (prompt, { responses }) => encodeResponses(prompt, responses),
  },
  'openai-chat': {
    baseUrl: 'https://api.openai.com/v1',
    path: '/chat/completions',
    stopSequences: true,
    customTools: false,
    headers: bearer,
    encode: (prompt, { chat }, { hostname }) =>
      encodeChat(prompt, {
        maxTokensName: hostname === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens',
        ...(requiresReasoning(hostname) ? { emptyReasoning: true } : {}),
        ...chat,
      }),
  },
  'anthropic-messages': {
    baseUrl: 'https://api.anthropic.com',
    path: '/v1/messages',
    stopSequences: true,
    customTools: false,
    headers: (apiKey) => ({
      'anthropic-version': '2023-06-01',
      ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    }),
    encode: (prompt, { messages }) => encodeMessages(prompt, messages),
  },
};

/**
 * A model with one of the three wire formats. Failures are emitted in the stream: `response_error` with `code`,
 * `message`, `retryable` and, if there was a response, `status` and `request_id`, then `response_done`. A retryable
 * failure is retried until the first event of the answer is emitted, never after that.
 *
 * @throws ToolscriptUsageError for an unknown api, a missing model or an invalid URL.
 */
export function createProvider(api: ProviderApi, options: ProviderOptions): ModelProvider {
  if (!Object.hasOwn(FORMATS, api)) throw unknownApi(api);
  if (typeof options.model !== 'string' || options.model === '')
    throw new ToolscriptUsageError('createProvider: options.model is missing. Set it to the name of a model.');
  const line = new ModelLine(api, options);
  const { stopSequences, customTools } = FORMATS[api];
  return Object.freeze({
    api,
    model: options.model,
    capabilities: Object.freeze({ stopSequences, customTools }),
    stream: (request: ModelRequest, streamOptions: StreamOptions = {}) => line.stream(request, streamOptions),
  });
}

/**
 * Sends requests to one model, one attempt after the other:
 *
 *   asking ──a response──▶ opening ──the first events──▶ emitting ──▶ done
 *     ▲  │ failure            │ the answer fails before its first event
 *     │  ▼                    ▼
 *   waiting ◀── retryable ────┴── not retryable ──▶ done (the failure is emitted)
 *
 * An abort ends each state: `response_done` says `cancelled`.
 */
class ModelLine {
  readonly #api: ProviderApi;
  readonly #options: ProviderOptions;
  readonly #url: URL;
  readonly #fetch: Fetch;
  readonly #clock: Clock;
  readonly #retries: RetryPolicy;
  readonly #redact: Redact;

  constructor(api: ProviderApi, options: ProviderOptions) {
    const format = FORMATS[api];
    this.#api = api;
    this.#options = options;
    this.#url = endpointOf(options.baseUrl ?? format.baseUrl, format.path);
    this.#fetch = options.fetch ?? fetchFor(this.#url, options.environment ?? process.env);
    // defence: key-over-plain-http
    refuseOpenKey(this.#url, options);
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#retries = { ...DEFAULT_RETRIES, ...options.retries };
    this.#redact = redactor([options.apiKey, ...secretHeaders(options.headers)]);
  }

  async *stream(
    request: ModelRequest,
    { signal, answerId = newId('ans'), headers }: StreamOptions,
  ): AsyncGenerator<EventPayload> {
    const body = await this.#encode(request);
    for (let retries = 0; ; retries += 1) {
      const posted = await this.#post(body, signal, headers);
      const failure = yield* this.#emit(posted, answerId, retries);
      if (failure === undefined) return;
      await sleep(this.#clock, failure.delayMs, signal);
      if (signal?.aborted === true) return yield* this.#cancelled(answerId);
    }
  }

  async #encode(request: ModelRequest): Promise<string> {
    const prompt = await promptOf(this.#api, this.#options.model, request);
    const body = FORMATS[this.#api].encode(prompt, this.#options, this.#url);
    // defence: no-half-characters, without it: return JSON.stringify({ ...body, ...this.#options.extraBody });
    return withoutHalves(JSON.stringify({ ...body, ...this.#options.extraBody }));
  }

  #post(body: string, signal: AbortSignal | undefined, ofRequest: StreamOptions['headers']): Promise<Posted> {
    const { apiKey, headers, connectTimeoutMs, idleTimeoutMs, answerTimeoutMs, maxAnswerBytes } = this.#options;
    const all = {
      ...lowerCased(ofRequest),
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...FORMATS[this.#api].headers(apiKey),
      ...lowerCased(headers),
    };
    return post(
      { url: this.#url.href, headers: all, body, signal },
      {
        fetch: this.#fetch,
        clock: this.#clock,
        connectTimeoutMs: connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
        idleTimeoutMs: idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
        answerTimeoutMs: answerTimeoutMs ?? DEFAULT_ANSWER_TIMEOUT_MS,
        maxAnswerBytes: maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
      },
    );
  }

  /** Emits the result of an attempt. Returns the delay instead if nothing was emitted and a retry may help. */
  async *#emit(
    posted: Posted,
    answerId: string,
    retries: number,
  ): AsyncGenerator<EventPayload, { delayMs: number } | undefined> {
    switch (posted.type) {
      case 'aborted':
        yield* this.#cancelled(answerId);
        return undefined;
      case 'failure': {
        const delayMs = delayBeforeRetry(posted.failure, retries, this.#retries, this.#clock);
        if (delayMs !== undefined) return { delayMs };
        yield* this.#failed(posted.failure, answerId, retries);
        return undefined;
      }
      case 'answer':
        return yield* this.#emitAnswer(posted, answerId, retries);
    }
  }

  async *#emitAnswer(
    posted: Extract<Posted, { type: 'answer' }>,
    answerId: string,
    retries: number,
  ): AsyncGenerator<EventPayload, { delayMs: number } | undefined> {
    let emitted = false;
    for await (const payloads of decodeAnswer(this.#api, posted.body, answerId)) {
      const failure = emitted ? undefined : failureIn(payloads);
      const delayMs = failure && delayBeforeRetry(failure, retries, this.#retries, this.#clock);
      if (delayMs !== undefined) return { delayMs };
      emitted = true;
      for (const payload of payloads) yield this.#withCircumstances(payload, posted);
    }
    return undefined;
  }

  #withCircumstances(payload: EventPayload, { status, requestId }: Extract<Posted, { type: 'answer' }>): EventPayload {
    if (payload.type !== 'response_error') return payload;
    const retryable = isPassing(payload.code);
    const named = requestId === undefined ? {} : { request_id: requestId };
    return this.#redact({ ...payload, status, retryable, ...named });
  }

  *#failed(failure: RequestFailure, answerId: string, retries: number): Generator<EventPayload> {
    const { code, message, native, retryable, status, requestId, retryAfterMs } = failure;
    const writer = new AnswerWriter(this.#api, answerId);
    const details = {
      retryable,
      attempts: retries + 1,
      ...(status === undefined ? {} : { status }),
      ...(requestId === undefined ? {} : { request_id: requestId }),
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    };
    writer.fail({ code, message, ...(native === undefined ? {} : { native }) }, {}, details);
    for (const payload of writer.take()) yield this.#redact(payload);
  }

  *#cancelled(answerId: string): Generator<EventPayload> {
    const writer = new AnswerWriter(this.#api, answerId);
    writer.cancel({ reason: 'The caller aborted the answer.' });
    yield* writer.take();
  }
}

/** The failure of an attempt that emitted nothing else. */
function failureIn(payloads: readonly EventPayload[]): RequestFailure | undefined {
  const said = payloads.some(({ type }) => type === 'item_start' || type === 'usage_update');
  const error = payloads.find((payload) => payload.type === 'response_error');
  if (said || error?.type !== 'response_error') return undefined;
  return { code: error.code, message: error.message, retryable: isPassing(error.code) };
}

function endpointOf(baseUrl: string, path: string): URL {
  if (!URL.canParse(baseUrl))
    throw new ToolscriptUsageError(
      'createProvider: baseUrl is not a URL. Use an absolute one, such as https://api.openai.com/v1.',
    );
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ToolscriptUsageError('createProvider: baseUrl must start with http: or https:.');
  if (url.username !== '' || url.password !== '')
    throw new ToolscriptUsageError(
      'createProvider: baseUrl must not contain a user name or password. Pass them in options.headers.',
    );
  const base = url.pathname.replace(/\/+$/u, '');
  url.pathname = base.endsWith('/v1') && path.startsWith('/v1/') ? base + path.slice('/v1'.length) : base + path;
  return url;
}

function fetchFor(url: URL, environment: Environment): Fetch {
  const proxy = proxyFor(url, environment);
  return proxy === undefined ? (to, init) => fetch(to, init) : proxyFetch(proxy);
}

/** Every host between here and the provider can read plain HTTP. */
function refuseOpenKey(url: URL, { apiKey, headers, fetch, environment, allowInsecureHttp }: ProviderOptions): void {
  if (url.protocol !== 'http:' || allowInsecureHttp === true) return;
  if ((apiKey ?? '') === '' && secretHeaders(headers).length === 0) return;
  const proxy = fetch === undefined ? proxyFor(url, environment ?? process.env) : undefined;
  if (isLoopback(url.hostname) && (proxy === undefined || isLoopback(new URL(proxy).hostname))) return;
  const way = isLoopback(url.hostname) ? 'through the proxy of HTTP_PROXY' : `to ${url.host}`;
  const remedy = isLoopback(url.hostname) ? `name ${url.hostname} in NO_PROXY` : 'use an https: baseUrl';
  throw new ToolscriptUsageError(
    `createProvider: the key would be sent unencrypted ${way}, because baseUrl starts with http:. Either ${remedy}, or set allowInsecureHttp: true if you trust the network.`,
  );
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/\.$/u, '');
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(?:\.\d+){3}$/u.test(host);
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Headers of the caller may contain secrets. Common harmless values are excluded. */
function secretHeaders(headers: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    /auth|key|token|secret|cookie/iu.test(name) ? [value, value.replace(/^\w+\s+/u, '')] : [],
  );
}
