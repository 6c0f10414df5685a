import { STATUS_CODES } from 'node:http';
import { ToolCallError } from '@toolscript/core';
import { jsonTextProblem, MESSAGE_LIMITS } from '@toolscript/core/internal';
import { parseLossless } from '../connection/lossless-json.js';
import { plainLines, thrownMessage } from '../connection/readable.js';
import type { ApiAnswer } from './api-fetch.js';

/** The call whose answer is read, for messages. */
export interface ApiCall {
  /** The name of the API in the configuration. */
  readonly server: string;
  readonly method: string;
  /** The path below the base URL, as in the document. */
  readonly path: string;
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/iu;
const TEXT_TYPE = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:xml|yaml|javascript|x-ndjson|x-www-form-urlencoded)\b)/iu;
const MAX_ERROR_TEXT = 1_000;
const MAX_ERROR_DATA = 8_000;
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** The answer as the result of an MCP tool. Throws a ToolCallError for every status that is not 2XX. */
export function answerResult({ status, headers, bytes }: ApiAnswer, call: ApiCall): unknown {
  const type = (headers['content-type'] ?? '').trim();
  if (status < 200 || status > 299) throw statusError({ status, headers, bytes }, call);
  if (bytes.length === 0) return {};
  if (TEXT_TYPE.test(type) || JSON_TYPE.test(type) || type === '')
    return { structuredContent: textOrData(bytes, type, call) };
  const [mimeType] = type.split(';');
  const data = bytes.toString('base64');
  if (type.startsWith('image/')) return { content: [{ type: 'image', data, mimeType }] };
  return { content: [{ type: 'resource', resource: { mimeType, blob: data } }] };
}

function textOrData(bytes: Buffer, type: string, call: ApiCall): unknown {
  const text = bytes.toString('utf8').replace(/^\uFEFF/u, '');
  if (!JSON_TYPE.test(type) && !(type === '' && /^\s*[[{]/u.test(text))) return text;
  const problem = jsonTextProblem(text, MESSAGE_LIMITS);
  // defence: openapi-answers-are-measured-before-parsing
  if (problem !== undefined)
    throw apiError(call, `answered with JSON that ${problem}, the maximum. Ask for less, such as a smaller page.`, {
      reason: 'too_large',
    });
  try {
    return parseLossless(text);
  } catch {
    return text;
  }
}

function statusError(answer: ApiAnswer, call: ApiCall): ToolCallError {
  const { status, headers, bytes } = answer;
  const text = plainLines(bytes.toString('utf8', 0, 4 * MAX_ERROR_DATA), MAX_ERROR_DATA);
  const said = text === '' ? '.' : `: ${plainLines(text, MAX_ERROR_TEXT)}`;
  const retryAfter = headers['retry-after'];
  const name = STATUS_CODES[status];
  return apiError(
    call,
    `answered with HTTP ${status}${name === undefined ? '' : ` (${name})`}${said}${statusAdvice(answer, call)}`,
    { reason: 'http_status', status, body: errorBody(text), ...(retryAfter === undefined ? {} : { retryAfter }) },
  );
}

function errorBody(text: string): unknown {
  try {
    return jsonTextProblem(text, MESSAGE_LIMITS) === undefined ? parseLossless(text) : text;
  } catch {
    return text;
  }
}

function statusAdvice({ status, headers }: ApiAnswer, { server, method }: ApiCall): string {
  const retryAfter = headers['retry-after'];
  if (status === 401 || status === 403) return ` The user can correct "headers" of "${server}" in mcp.json.`;
  if (headers.location !== undefined && status < 400)
    return ` It redirects to ${plainLines(headers.location, 200)}, which is not followed.`;
  if (retryAfter !== undefined)
    return ` It asks to wait before the next call: Retry-After ${plainLines(retryAfter, 50)}.`;
  return status >= 500 ? unknownEffect(method) : '';
}

/** The error of a call without an answer. */
export function failedCall(thrown: unknown, call: ApiCall, timeoutMs: number): ToolCallError {
  const { reason = 'network' } = ((thrown as { data?: unknown } | null)?.data ?? {}) as { reason?: string };
  if (reason === 'timed_out')
    return apiError(call, `did not answer within ${timeoutMs} ms.${unknownEffect(call.method)}`, { reason });
  if (reason === 'too_large')
    return apiError(call, `answered with more bytes than a call may return. Ask for less, such as a smaller page.`, {
      reason,
    });
  if (reason === 'blocked_address')
    return apiError(call, 'redirects to an address that is not public, so it is not contacted.', { reason });
  return apiError(
    call,
    `could not be called: ${plainLines(thrownMessage(thrown), MAX_ERROR_TEXT)}${unknownEffect(call.method)}`,
    { reason },
  );
}

function unknownEffect(method: string): string {
  return READING.has(method) ? '' : ' Whether the call took effect is unknown: check before you repeat it.';
}

function apiError(
  { server, method, path }: ApiCall,
  said: string,
  data: Readonly<Record<string, unknown>>,
): ToolCallError {
  return new ToolCallError('ToolExecutionError', `The API "${server}", ${method} ${path}, ${said}`, data);
}
