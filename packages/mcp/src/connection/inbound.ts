import {
  Client,
  ProtocolError,
  ProtocolErrorCode,
  type ClientCapabilities,
  type ClientContext,
  type Request,
  type Result,
} from '@modelcontextprotocol/client';
import { isRecord } from '@toolscript/core/internal';
import { pathToFileURL } from 'node:url';
import { safePage } from '../configuration/safe-page.js';
import { oneLine } from './readable.js';
import { TASKS_EXTENSION } from './server-task.js';
import { TaskError } from './task-problem.js';

/** A server's request that the user enters data (`form`) or opens a page (`url`). */
export interface ElicitationRequest {
  readonly server: string;
  readonly mode: 'form' | 'url';
  readonly message: string;
  /** The members that the form asks for, as a JSON Schema. */
  readonly requestedSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly url?: string | undefined;
  /** The host of `url`, as the user should see it before the page is opened. */
  readonly host?: string | undefined;
}

export interface ElicitationAnswer {
  action: 'accept' | 'decline' | 'cancel';
  /** The user's input; present only if the user accepts a form. */
  content?: Record<string, string | number | boolean | string[]> | undefined;
}

/** A server's request for an answer from a language model. */
export interface SamplingRequest {
  readonly server: string;
  readonly messages: readonly unknown[];
  readonly systemPrompt?: string | undefined;
  readonly maxTokens: number;
}

export interface SamplingAnswer {
  model: string;
  text: string;
}

/**
 * The host's answers to requests of servers. A server learns which handlers exist. All other requests are refused with
 * a reason.
 */
export interface InboundHandlers {
  /** Default: elicitation is refused, because there is no user. */
  readonly onElicitation?:
    | ((request: ElicitationRequest, signal: AbortSignal) => Promise<ElicitationAnswer>)
    | undefined;
  /** Default: sampling is refused. */
  readonly onSampling?: ((request: SamplingRequest, signal: AbortSignal) => Promise<SamplingAnswer>) | undefined;
  /** Folders that servers may know, as absolute paths. Default: none. */
  readonly roots?: readonly string[] | undefined;
}

export function clientCapabilities({ onElicitation, onSampling, roots }: InboundHandlers): ClientCapabilities {
  return {
    ...(onElicitation === undefined ? {} : { elicitation: { form: {}, url: {} } }),
    ...(onSampling === undefined ? {} : { sampling: {} }),
    ...(roots === undefined ? {} : { roots: {} }),
    extensions: { [TASKS_EXTENSION]: {} },
  };
}

const REFUSALS: Readonly<Record<string, string>> = {
  'elicitation/create': 'No user can answer, so this client refuses elicitation. Continue without the data.',
  'sampling/createMessage': 'This client gives servers no access to a language model. Continue without it.',
  'roots/list': 'This client shares no folders with servers. Continue without them.',
};

/** Answers the requests of one server. */
export function answerRequests(client: Client, server: string, handlers: InboundHandlers): void {
  const { onElicitation, onSampling, roots } = handlers;
  if (onElicitation !== undefined) answerElicitation(client, server, onElicitation);
  if (onSampling !== undefined) answerSampling(client, server, onSampling);
  if (roots !== undefined)
    client.setRequestHandler('roots/list', () => ({
      roots: roots.map((path) => ({ uri: pathToFileURL(path).href, name: path })),
    }));
  client.fallbackRequestHandler = ({ method }) => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, refusal(method));
  };
}

/** A client that also answers requests that are part of a result. */
export class AnsweringClient extends Client {
  /** Answers a request as if it had arrived as one of its own; undefined without a handler. */
  async answer(id: string, request: Request, signal: AbortSignal): Promise<Result | undefined> {
    const handler = this._getRequestHandler(request.method);
    const context = { mcpReq: { id, method: request.method, signal } } as ClientContext;
    return handler?.({ jsonrpc: '2.0', id, ...request }, context);
  }
}

/** The answer to a request that is part of a result. Throws a `TaskError` if there is none. */
export async function answerRequest(
  client: AnsweringClient,
  key: string,
  request: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { method, params } = isRecord(request) ? request : {};
  const asked = { method: String(method), params } as Request;
  const answer = Object.hasOwn(REFUSALS, asked.method)
    ? await client.answer(key, asked, signal).catch((error: unknown) => {
        throw new TaskError('unanswered', error);
      })
    : undefined;
  if (answer === undefined) throw new TaskError('unanswered', refusal(asked.method));
  return answer;
}

const refusal = (method: string) =>
  REFUSALS[method] ?? `This client does not support "${oneLine(method, 100)}". Do not request it.`;

function answerElicitation(
  client: Client,
  server: string,
  answer: NonNullable<InboundHandlers['onElicitation']>,
): void {
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq: { signal } }) => {
    const isPage = params.mode === 'url';
    const page = isPage ? safePage(params.url) : undefined;
    // defence: mcp-elicited-pages-are-web-pages
    if (isPage && page === undefined) return { action: 'decline' };
    const request = page
      ? { server, mode: 'url' as const, message: params.message, url: page.href, host: page.host }
      : { server, mode: 'form' as const, message: params.message, requestedSchema: formSchema(params) };
    const { action, content } = await answer(request, signal);
    return action === 'accept' && content !== undefined && !isPage ? { action, content } : { action };
  });
}

/** Whether a server makes a call only after the user has opened pages, and the user has opened all of them. */
export async function openedPages(client: AnsweringClient, error: unknown, signal: AbortSignal): Promise<boolean> {
  if (!(error instanceof ProtocolError) || error.code !== Number(ProtocolErrorCode.UrlElicitationRequired))
    return false;
  const pages: unknown = isRecord(error.data) ? error.data['elicitations'] : undefined;
  for (const params of Array.isArray(pages) ? (pages as unknown[]) : []) {
    const request = { method: 'elicitation/create', params };
    const answer = await answerRequest(client, 'page', request, signal).catch(() => undefined);
    if (!isRecord(answer) || answer['action'] !== 'accept') return false;
  }
  return Array.isArray(pages) && pages.length > 0;
}

const formSchema = (params: object) => ({ ...(params as { requestedSchema?: object }).requestedSchema });

function answerSampling(client: Client, server: string, answer: NonNullable<InboundHandlers['onSampling']>): void {
  client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq: { signal } }) => {
    const { messages, systemPrompt, maxTokens } = params;
    const shared = { server, messages, maxTokens };
    const { model, text } = await answer(systemPrompt === undefined ? shared : { ...shared, systemPrompt }, signal);
    return { role: 'assistant', model, content: { type: 'text', text } };
  });
}
