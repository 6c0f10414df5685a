import { sleep, type Clock } from './clock.js';
import { Deadlines, watchBody, type AttemptTimes } from './watched-body.js';
import {
  connectionTimeout,
  failureOfConnection,
  failureOfRedirect,
  failureOfResponse,
  firstTokenTimeout,
  failureHeaders,
  totalTimeout,
  headerRateLimits,
  type RateLimit,
  type RequestFailure,
} from './failures.js';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface PostRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Undefined: the request is a GET. */
  body: string | undefined;
  signal: AbortSignal | undefined;
}

export interface PostSettings extends AttemptTimes {
  fetch: Fetch;
  clock: Clock;
  /** Maximum size of the whole body, in bytes. */
  maxAnswerBytes: number;
}

export type PostResult =
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly requestId?: string | undefined;
      readonly retryAfterMs?: number | undefined;
      readonly rateLimits: readonly RateLimit[];
      readonly body: AsyncIterable<Uint8Array>;
      /** Called by the reader at the first item of the answer. Ends the limit on the time until the first item. */
      readonly onFirstItem: () => void;
    }
  | { readonly type: 'failure'; readonly failure: RequestFailure }
  | { readonly type: 'aborted' };

const MAX_ERROR_BYTES = 65_536;
const ERROR_BODY_TIMEOUT_MS = 10_000;

/** Makes one attempt. Never rejects. */
export async function post(request: PostRequest, settings: PostSettings): Promise<PostResult> {
  if (request.signal?.aborted === true) return { type: 'aborted' };
  const connection = new AbortController();
  const abort = (): void => connection.abort();
  request.signal?.addEventListener('abort', abort, { once: true });
  const release = (): void => request.signal?.removeEventListener('abort', abort);
  const begun = settings.clock.elapsed();
  const head = await awaitHead(request, settings, connection);
  if (head.type !== 'response') {
    release();
    return head;
  }
  const { response } = head;
  const end = (): void => {
    release();
    connection.abort();
  };
  if (!response.ok) return { type: 'failure', failure: await readFailure(response, settings, end) };
  const deadlines = new Deadlines(settings, begun);
  const watch = { ...settings, deadlines, signal: request.signal, onEnd: end };
  const body = response.body === null ? nothing() : watchBody(response.body, watch);
  const onFirstItem = (): void => deadlines.saysSomething();
  const { status, headers } = response;
  const rateLimits = headerRateLimits(headers);
  return { type: 'answer', status, ...failureHeaders(headers, settings.clock), rateLimits, body, onFirstItem };
}

type Head = { readonly type: 'response'; readonly response: Response } | Exclude<PostResult, { type: 'answer' }>;

async function awaitHead(
  { url, headers, body, signal }: PostRequest,
  { fetch, clock, ...times }: PostSettings,
  connection: AbortController,
): Promise<Head> {
  const { ms, failure } = headLimit(times);
  let late = false;
  const cancelTimer = clock.after(ms, () => {
    late = true;
    connection.abort();
  });
  try {
    const content = body === undefined ? { method: 'GET' } : { method: 'POST', body };
    const init: RequestInit = { ...content, headers, redirect: 'manual', signal: connection.signal };
    return { type: 'response', response: await fetch(url, init) };
  } catch (error) {
    if (signal?.aborted === true) return { type: 'aborted' };
    return { type: 'failure', failure: late ? failure : failureOfConnection(error) };
  } finally {
    cancelTimer();
  }
}

/** The shortest limit that counts until the response headers arrive. */
function headLimit(times: AttemptTimes): { ms: number; failure: RequestFailure } {
  const { connectTimeoutMs, firstTokenTimeoutMs, leftMs } = times;
  if (leftMs < Math.min(connectTimeoutMs, firstTokenTimeoutMs))
    return { ms: Math.max(0, leftMs), failure: totalTimeout() };
  if (firstTokenTimeoutMs < connectTimeoutMs)
    return { ms: firstTokenTimeoutMs, failure: firstTokenTimeout(firstTokenTimeoutMs) };
  return { ms: connectTimeoutMs, failure: connectionTimeout(connectTimeoutMs) };
}

async function readFailure(response: Response, { clock }: PostSettings, end: () => void): Promise<RequestFailure> {
  const done = new AbortController();
  const text = await Promise.race([
    bodyStart(response),
    sleep(clock, ERROR_BODY_TIMEOUT_MS, done.signal).then(() => ''),
  ]);
  done.abort();
  end();
  if (response.status >= 300 && response.status < 400) return failureOfRedirect(response);
  return failureOfResponse(response, text, clock);
}

/** The start of an error's body; if the body is interrupted, the part that was received. */
async function bodyStart({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true });
      bytes += piece.length;
      if (bytes >= MAX_ERROR_BYTES) break;
    }
  } catch {
    // The part that was received must suffice.
  }
  return text + decoder.decode();
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}
