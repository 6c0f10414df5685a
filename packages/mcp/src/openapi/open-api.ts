import type { OpenApiTransport } from '../configuration/server-config.js';
import { isRecord } from '@toolscript/core/internal';
import { ConnectError } from '../connection/open-client.js';
import { oneLine, thrownMessage } from '../connection/readable.js';
import { answerResult, failedCall } from './answer.js';
import { apiFetch, type ApiAnswer } from './api-fetch.js';
import { apiBase } from './base-url.js';
import { MAX_DOCUMENT_BYTES, parseDocument, readDocumentFile, unusable, type ApiDocument } from './document.js';
import { readOperations, type Operation, type ReadOperations } from './operations.js';
import { apiRequest } from './request.js';

/** Maximum bytes of the answer to a call. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

interface OpenOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The API of a document. */
export interface OpenApi extends Omit<ReadOperations, 'operations'> {
  /** The title and the version of the API, as its document has them. */
  readonly info: { readonly name: string; readonly version: string };
  /** The version of the document's format. */
  readonly format: string;
  /** Calls an operation. Resolves with its answer as the result of an MCP tool, or rejects with a ToolCallError. */
  call(name: string, input: Readonly<Record<string, unknown>>, options: OpenOptions): Promise<unknown>;
}

/** Reads the document of an API. Rejects with a `ConnectError`. */
export async function openApi(server: string, transport: OpenApiTransport, options: OpenOptions): Promise<OpenApi> {
  try {
    const document = await parseDocument(await documentText(transport, options));
    const base = apiBase(document, transport);
    const { operations, ...read } = readOperations(document, base);
    const send = (operation: Operation, input: Readonly<Record<string, unknown>>, limits: OpenOptions) =>
      callOperation({ server, base, headers: transport.headers }, operation, input, limits);
    return {
      ...read,
      info: documentInfo(document),
      format: document.version,
      call: (name, ...call) => send(operations.get(name)!, ...call),
    };
  } catch (error) {
    const { needsUser } = error instanceof ConnectError ? error : { needsUser: false };
    const why = oneLine(thrownMessage(error), 600).replace(/[.]$/u, '');
    throw new ConnectError(`The OpenAPI document of "${server}", ${transport.shown}, cannot be used: ${why}.`, {
      needsUser,
    });
  }
}

async function documentText({ document, baseUrl, headers }: OpenApiTransport, options: OpenOptions): Promise<string> {
  if (typeof document === 'string') return readDocumentFile(document);
  const request = { url: document, method: 'GET', headers: {}, body: undefined };
  const { origin } = document;
  // defence: openapi-documents-get-no-credentials-of-another-origin
  const own = baseUrl === undefined || baseUrl.origin === origin ? headers : {};
  const answer = await apiFetch(request, { ...options, origin, headers: own, maxBytes: MAX_DOCUMENT_BYTES });
  if (answer.status !== 200) throw documentStatus(answer);
  return answer.bytes.toString('utf8');
}

function documentStatus({ status }: ApiAnswer): ConnectError {
  const isRefused = status >= 400 && status < 500 && status !== 429;
  const message = `its server answered with HTTP ${status}`;
  return isRefused ? unusable(`${message}; check "openapi" and "headers"`) : new ConnectError(message);
}

function documentInfo({ content }: ApiDocument): OpenApi['info'] {
  const { title, version } = isRecord(content['info']) ? content['info'] : ({} as Record<string, unknown>);
  return { name: oneLine(String(title ?? 'API'), 100), version: oneLine(String(version ?? ''), 50) };
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
