import { sleep, type Clock } from './clock.js';
import {
  connectionTimeout,
  failureOfConnection,
  failureOfRedirect,
  failureOfResponse,
  requestIdOf,
} from './failures.js';
import type { RequestFailure } from './request-failure.js';
import { watchBody } from './watched-body.js';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface PostRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  signal: AbortSignal | undefined;
}

export interface PostSettings {
  fetch: Fetch;
  clock: Clock;
  /** Maximum time until the response head arrives, in ms. */
  connectTimeoutMs: number;
  /** Maximum time between two chunks of the body, in ms. */
  idleTimeoutMs: number;
  /** Maximum time for the whole body, in ms. */
  answerTimeoutMs: number;
  /** Maximum size of the whole body, in bytes. */
  maxAnswerBytes: number;
}

export type Posted =
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly requestId: string | undefined;
      readonly body: AsyncIterable<Uint8Array>;
    }
  | { readonly type: 'failure'; readonly failure: RequestFailure }
  | { readonly type: 'aborted' };

const MAX_ERROR_BYTES = 65_536;
const ERROR_BODY_TIMEOUT_MS = 10_000;

/** Makes one attempt. Never rejects. */
export async function post(request: PostRequest, settings: PostSettings): Promise<Posted> {
  if (request.signal?.aborted === true) return { type: 'aborted' };
  const connection = new AbortController();
  const abort = (): void => connection.abort();
  request.signal?.addEventListener('abort', abort, { once: true });
  const release = (): void => request.signal?.removeEventListener('abort', abort);
  const head = await headOf(request, settings, connection);
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
  const watch = { ...settings, signal: request.signal, onEnd: end };
  const body = response.body === null ? nothing() : watchBody(response.body, watch);
  return { type: 'answer', status: response.status, requestId: requestIdOf(response.headers), body };
}

type Head = { readonly type: 'response'; readonly response: Response } | Exclude<Posted, { type: 'answer' }>;

async function headOf(
  { url, headers, body, signal }: PostRequest,
  { fetch, clock, connectTimeoutMs }: PostSettings,
  connection: AbortController,
): Promise<Head> {
  let late = false;
  const cancelTimer = clock.after(connectTimeoutMs, () => {
    late = true;
    connection.abort();
  });
  try {
    const init: RequestInit = { method: 'POST', headers, body, redirect: 'manual', signal: connection.signal };
    return { type: 'response', response: await fetch(url, init) };
  } catch (error) {
    if (signal?.aborted === true) return { type: 'aborted' };
    return { type: 'failure', failure: late ? connectionTimeout(connectTimeoutMs) : failureOfConnection(error) };
  } finally {
    cancelTimer();
  }
}

async function readFailure(response: Response, { clock }: PostSettings, end: () => void): Promise<RequestFailure> {
  const done = new AbortController();
  const text = await Promise.race([
    beginningOf(response),
    sleep(clock, ERROR_BODY_TIMEOUT_MS, done.signal).then(() => ''),
  ]);
  done.abort();
  end();
  if (response.status >= 300 && response.status < 400) return failureOfRedirect(response);
  return failureOfResponse(response, text, clock);
}

/** The start of an error's body. If the body is interrupted, the part received so far. */
async function beginningOf({ body }: Response): Promise<string> {
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
    // The received part must suffice.
  }
  return text + decoder.decode();
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}
