import { ProtocolError, ProtocolErrorCode, type Client, type ClientCapabilities } from '@modelcontextprotocol/client';
import { pathToFileURL } from 'node:url';

/** A server's request that the user enters data (`form`) or opens a page (`url`). */
export interface ElicitationRequest {
  readonly server: string;
  readonly mode: 'form' | 'url';
  readonly message: string;
  /** The members that the form asks for, as a JSON Schema. */
  readonly requestedSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly url?: string | undefined;
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
    throw new ProtocolError(
      ProtocolErrorCode.MethodNotFound,
      REFUSALS[method] ?? `This client does not support "${method}". Do not request it.`,
    );
  };
}

function answerElicitation(
  client: Client,
  server: string,
  answer: NonNullable<InboundHandlers['onElicitation']>,
): void {
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq: { signal } }) => {
    const isPage = params.mode === 'url';
    // defence: mcp-elicited-pages-are-web-pages
    if (isPage && !/^https?:\/\//iu.test(params.url)) return { action: 'decline' };
    const request = isPage
      ? { server, mode: 'url' as const, message: params.message, url: params.url }
      : { server, mode: 'form' as const, message: params.message, requestedSchema: { ...params.requestedSchema } };
    const { action, content } = await answer(request, signal);
    return action === 'accept' && content !== undefined && !isPage ? { action, content } : { action };
  });
}

function answerSampling(client: Client, server: string, answer: NonNullable<InboundHandlers['onSampling']>): void {
  client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq: { signal } }) => {
    const { messages, systemPrompt, maxTokens } = params;
    const shared = { server, messages, maxTokens };
    const { model, text } = await answer(systemPrompt === undefined ? shared : { ...shared, systemPrompt }, signal);
    return { role: 'assistant', model, content: { type: 'text', text } };
  });
}
