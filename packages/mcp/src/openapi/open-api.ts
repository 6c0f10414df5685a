import type { OpenApiTransport } from '../configuration/server-config.js';
import { limitedSignal } from '@toolscript/core/internal';
import { ConnectError } from '../connection/connect-error.js';
import { oneLine, thrownMessage } from '../connection/readable.js';
import { answerResult, failedCall } from './answer.js';
import { apiFetch, type ApiAnswer } from './api-fetch.js';
import { MAX_DOCUMENT_BYTES } from './document-limits.js';
import type { Operation } from './operations.js';
import { readDocument, type ReadDocument } from './read-document.js';
import { apiRequest } from './request.js';

/** Maximum bytes of the answer to a call. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

interface OpenOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The API of a document. */
export interface OpenApi extends Omit<ReadDocument, 'operations' | 'base'> {
  /** Calls an operation. Resolves with its answer as the result of an MCP tool, or rejects with a ToolCallError. */
  call(name: string, input: Readonly<Record<string, unknown>>, options: OpenOptions): Promise<unknown>;
}

/** Reads the document of an API. Rejects with a `ConnectError`. */
export async function openApi(server: string, transport: OpenApiTransport, options: OpenOptions): Promise<OpenApi> {
  try {
    const { document: place, baseUrl } = transport;
    const { operations, base, ...read } = await readDocument(
      {
        document: typeof place === 'string' ? place : await documentBytes(place, transport, options),
        address: typeof place === 'string' ? undefined : place.href,
        baseUrl: baseUrl?.href,
      },
      limitedSignal(options.timeoutMs, options.signal),
    );
    const send = (operation: Operation, input: Readonly<Record<string, unknown>>, limits: OpenOptions) =>
      callOperation({ server, base: new URL(base), headers: transport.headers }, operation, input, limits);
    return { ...read, call: (name, ...call) => send(operations.get(name)!, ...call) };
  } catch (error) {
    const { needsUser } = error instanceof ConnectError ? error : { needsUser: false };
    const why = oneLine(thrownMessage(error), 600).replace(/[.]$/u, '');
    throw new ConnectError(`The OpenAPI document of "${server}", ${transport.shown}, cannot be used: ${why}.`, {
      needsUser,
    });
  }
}

async function documentBytes(
  document: URL,
  { baseUrl, headers }: OpenApiTransport,
  options: OpenOptions,
): Promise<Uint8Array> {
  const request = { url: document, method: 'GET', headers: {}, body: undefined };
  const { origin } = document;
  // defence: openapi-documents-get-no-credentials-of-another-origin
  const own = baseUrl === undefined || baseUrl.origin === origin ? headers : {};
  const answer = await apiFetch(request, { ...options, origin, headers: own, maxBytes: MAX_DOCUMENT_BYTES });
  if (answer.status !== 200) throw documentStatus(answer);
  return answer.bytes;
}

function documentStatus({ status }: ApiAnswer): ConnectError {
  const isRefused = status >= 400 && status < 500 && status !== 429;
  const message = `its server answered with HTTP ${status}`;
  return isRefused
    ? new ConnectError(`${message}; check "openapi" and "headers"`, { needsUser: true })
    : new ConnectError(message);
}

async function callOperation(
  {
    server,
    base,
    headers,
  }: { readonly server: string; readonly base: URL; readonly headers: Readonly<Record<string, string>> },
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  { timeoutMs, signal }: OpenOptions,
): Promise<unknown> {
  const call = { server, method: operation.method, path: operation.path };
  const request = await apiRequest(operation, input, base);
  const limits = { origin: base.origin, headers, timeoutMs, maxBytes: MAX_ANSWER_BYTES, signal };
  const answer = await apiFetch(request, limits).catch((error: unknown) => {
    throw failedCall(error, call, timeoutMs);
  });
  return answerResult(answer, call);
}
