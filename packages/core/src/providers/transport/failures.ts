import { wireFailure, isMembers, wireMembers, type Members } from '../wire-values.js';
import { CONTAINER_LOST } from '../../protocol/hosted-code.js';
import { messageJson, type Defined } from '../../protocol/json.js';
import type { Clock } from './clock.js';

/** The failure of a request, as `response_error` reports it. */
export interface RequestFailure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  /** The provider's own error object. */
  readonly native?: Members | undefined;
}

const EXCERPT_LENGTH = 500;

/** Codes of failures that last until the account is paid: they are not retried, whatever the HTTP status is. */
export const QUOTA_CODES: readonly string[] = ['insufficient_quota', 'billing_hard_limit_reached', 'billing_error'];

/** Codes of failures that a retry may resolve: codes of providers, and codes of this package. */
const PASSING_CODES = [
  'overloaded_error',
  'rate_limit_error',
  'rate_limit_exceeded',
  'api_error',
  'server_error',
  'internal_error',
  'timeout_error',
  'AnswerTruncated',
  'AnswerInterrupted',
  'AnswerStalled',
  'ConnectionFailed',
  'ConnectionTimeout',
  'FirstTokenTimeout',
];

/** Whether a retry may resolve a failure with this code. Streamed errors may have an HTTP status as their code. */
function isPassing(code: string): boolean {
  return PASSING_CODES.includes(code) || (/^[1-5]\d\d$/u.test(code) && isRetryableStatus(Number(code)));
}

/** The failure that an answer reports after the response headers arrived. */
export function failureOfAnswer(
  { code, message, native }: Members & { code: string; message: string },
  {
    status,
    requestId,
    retryAfterMs,
  }: { status: number; requestId?: string | undefined; retryAfterMs?: number | undefined },
): RequestFailure {
  const named = wireMembers(native);
  const isHopeless = [code, named.type, named.code].some((name) => QUOTA_CODES.includes(String(name)));
  return {
    code,
    message,
    retryable: isPassing(code) && !isHopeless,
    status,
    requestId,
    retryAfterMs,
  };
}

function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** The members of a failure that come from the headers of the response. */
export function failureHeaders(
  headers: Headers,
  clock: Clock,
): { requestId?: string | undefined; retryAfterMs?: number | undefined } {
  const requestId = headers.get('x-request-id') ?? headers.get('request-id');
  const retryAfterMs = requestedRetryDelay(headers, clock);
  return { ...(requestId === null ? {} : { requestId }), retryAfterMs };
}

/** The failure of an error response. `text` is its body, possibly truncated. */
export function failureOfResponse(response: Response, text: string, clock: Clock): RequestFailure {
  const { status, headers } = response;
  const said = saidIn(text);
  const should = headers.get('x-should-retry');
  const retryable =
    should === 'true' || (should !== 'false' && isRetryableStatus(status) && !QUOTA_CODES.includes(said.code));
  return {
    code: said.code,
    message: `${status}: ${said.message === '' ? response.statusText || 'The provider gave no reason.' : said.message}`,
    retryable,
    status,
    ...failureHeaders(headers, clock),
    ...(said.native === undefined ? {} : { native: said.native }),
  };
}

function saidIn(text: string): { code: string; message: string; native?: Members | undefined } {
  const body = messageJson(text);
  // Some servers send a list that contains the error object.
  const value = Array.isArray(body) ? (body as unknown[])[0] : body;
  const { error } = wireMembers(value);
  if (isMembers(value)) return wireFailure(error ?? value);
  // The body is not JSON: a proxy's HTML page, for example.
  const shown = text.trim();
  const message = shown.length > EXCERPT_LENGTH ? `${shown.slice(0, EXCERPT_LENGTH)}…` : shown;
  return { code: 'ProviderError', message };
}

/**
 * Converts the failure of a request that named a container. No error shape is documented for an expired container:
 * services refuse the request with a text that mentions the container.
 */
export function containerFailure(failure: RequestFailure): RequestFailure {
  const { status = 0, message } = failure;
  if (![400, 404, 410].includes(status) || !/\bcontainer/iu.test(message)) return failure;
  return {
    ...failure,
    code: CONTAINER_LOST,
    message: `The provider no longer has the container in which its code ran (${message}). Remove the container from the request, then send the request again: new code starts in a new container.`,
    retryable: false,
  };
}

/**
 * Whether the service cannot verify sealed reasoning of the conversation: it is of another account, or a gateway changed
 * it. Sources, read on 2026-11-29: https://github.com/openai/codex/issues/8145 (`invalid_encrypted_content`),
 * https://github.com/anthropics/anthropic-sdk-python/issues/1598 (invalid `signature` in `thinking` block).
 */
export function refusesReasoning({ status = 0, code, message }: RequestFailure): boolean {
  if (status === 429 || status >= 500) return false;
  return (
    code === 'invalid_encrypted_content' || /\bencrypted[ _]content\b|`signature` in `\w*thinking`/iu.test(message)
  );
}

/** The members of request bodies that an answer does not need. */
const OPTIONAL_MEMBERS = [
  'temperature',
  'reasoning',
  'reasoning_effort',
  'thinking',
  'output_config',
  'response_format',
  'text',
  'tool_choice',
  'parallel_tool_calls',
  'stop',
  'stop_sequences',
  'include',
  'prompt_cache_key',
];

/**
 * The optional member of the body because of which a service refused the request: the error names it as its `param`, in
 * quotes, or at the beginning of its message.
 */
export function refusedMember({ status, native = {} }: RequestFailure, body: Members): string | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const { param, message } = native;
  const named = typeof param === 'string' ? param : /^[a-z_]+(?=[:.])|(?<=["'`])[a-z_]+/u.exec(String(message))?.[0];
  const member = named?.split('.')[0];
  return member !== undefined && OPTIONAL_MEMBERS.includes(member) && member in body ? member : undefined;
}

/** The failure of a redirect. Redirects are not followed, because they would send the key to an unknown host. */
export function failureOfRedirect(response: Response): RequestFailure {
  const to = response.headers.get('location');
  const message = `${response.status}: The base URL redirects${to === null ? '' : ` to ${to}`}. Redirects are not followed. Set baseUrl to the target.`;
  return { code: 'ProviderRedirect', message, retryable: false, status: response.status };
}

/** Converts an error of `fetch`. Its `cause` has more details than its message. */
export function failureOfConnection(error: unknown): RequestFailure {
  const causes: string[] = [];
  for (let at: unknown = error; at instanceof Error && causes.length < 4; at = at.cause) {
    const { code } = at as Error & { code?: unknown };
    if (at.message !== '') causes.push(at.message);
    else if (typeof code === 'string') causes.push(code);
  }
  const why = causes.length === 0 ? String(error) : causes.join(': ');
  return {
    code: 'ConnectionFailed',
    message: `The provider could not be reached: ${why.replace(/\.$/u, '')}. Check baseUrl and the network.`,
    retryable: true,
  };
}

/** The failure of the function that returns the key. */
export function keyFailure(error: unknown): RequestFailure {
  const why = error instanceof Error ? error.message : String(error);
  return { code: 'KeyUnavailable', message: `The API key could not be read: ${why}`, retryable: false };
}

export function totalTimeout(): RequestFailure {
  const message = 'The time for all attempts is over. Raise totalTimeoutMs of createProvider if they need longer.';
  return { code: 'RequestTimeout', message, retryable: false };
}

export function firstTokenTimeout(ms: number): RequestFailure {
  const message = `The provider sent no content within ${ms / 1000} s. Raise firstTokenTimeoutMs of createProvider if the model thinks longer.`;
  return { code: 'FirstTokenTimeout', message, retryable: true };
}

export function connectionTimeout(ms: number): RequestFailure {
  const message = `The provider did not start to answer within ${ms / 1000} s. Raise connectTimeoutMs of createProvider if it needs longer.`;
  return { code: 'ConnectionTimeout', message, retryable: true };
}

export interface RetryOptions {
  /** Maximum number of attempts after the first one. Default 3. */
  maxRetries?: number | undefined;
  /** Maximum of the first delay, in ms. The maximum doubles with each retry. Default 500. */
  baseDelayMs?: number | undefined;
  /** Maximum of every computed delay, in ms. Default 30 000. */
  maxDelayMs?: number | undefined;
  /** Maximum delay that a provider may request, in ms. A longer delay ends the retries. Default 60 000. */
  maxRetryAfterMs?: number | undefined;
}

export type RetryPolicy = Defined<RetryOptions>;

export function retryPolicy({
  maxRetries = 3,
  baseDelayMs = 500,
  maxDelayMs = 30_000,
  maxRetryAfterMs = 60_000,
}: RetryOptions = {}): RetryPolicy {
  return { maxRetries, baseDelayMs, maxDelayMs, maxRetryAfterMs };
}

/**
 * The delay before the next attempt, in ms; undefined if there is no next attempt. A delay that the provider requests
 * is used as it is. Otherwise the delay grows with the attempts and is random ("full jitter"), so that callers that
 * failed together do not retry together. `retries`: the number of retries so far.
 */
export function delayBeforeRetry(
  failure: RequestFailure,
  retries: number,
  policy: RetryPolicy,
  clock: Clock,
): number | undefined {
  if (!failure.retryable || retries >= policy.maxRetries) return undefined;
  const { retryAfterMs } = failure;
  if (retryAfterMs !== undefined) return retryAfterMs <= policy.maxRetryAfterMs ? retryAfterMs : undefined;
  return Math.floor(clock.random() * Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** retries));
}

/** The delay that `retry-after-ms`, or `retry-after` in seconds or as an HTTP date, requests. */
export function requestedRetryDelay(headers: Headers, clock: Clock): number | undefined {
  const ms = headerNumber(headers.get('retry-after-ms'));
  if (ms !== undefined) return ms;
  const value = headers.get('retry-after');
  const seconds = headerNumber(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = value === null ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now());
}

function headerNumber(value: string | null): number | undefined {
  if (value === null || !/^\s*\d+(?:\.\d+)?\s*$/u.test(value)) return undefined;
  return Number(value);
}

/** A limit and its remaining amount, from the headers of a response. */
export interface RateLimit {
  /** The unit that is counted: `requests`, `tokens`, `input-tokens`, … */
  readonly name: string;
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  /** The time at which the limit is full again, as the provider writes it: a date, or a duration such as `6m0s`. */
  readonly reset?: string | undefined;
}

const OPENAI_HEADER = /^x-ratelimit-(?<what>limit|remaining|reset)-(?<name>[a-z-]+)$/u;
const ANTHROPIC_HEADER = /^anthropic-ratelimit-(?<name>[a-z-]+)-(?<what>limit|remaining|reset)$/u;

/** The limits in the headers of OpenAI, Anthropic and servers like them, by name; empty if there are none. */
export function headerRateLimits(headers: Headers): RateLimit[] {
  const limits = new Map<string, Record<string, string | number>>();
  for (const [header, value] of headers) {
    const { name, what } = (OPENAI_HEADER.exec(header) ?? ANTHROPIC_HEADER.exec(header))?.groups ?? {};
    if (name === undefined || what === undefined || (what !== 'reset' && !/^\d+$/u.test(value))) continue;
    const limit = limits.get(name) ?? {};
    limits.set(name, { ...limit, [what]: what === 'reset' ? value : Number(value) });
  }
  return [...limits].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, limit]) => ({ name, ...limit }));
}
