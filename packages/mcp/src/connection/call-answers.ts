import { isRecord } from '@toolscript/core/internal';
import { parseLossless } from './lossless-json.js';

/** The member of an envelope that has the server's result. */
const RESULT = 'result';

/** The requests whose answers have the result of a call. */
const CALLS: ReadonlySet<unknown> = new Set(['tools/call', 'tasks/get', 'tasks/result']);

/**
 * The answers to the calls of one connection, and to the requests about their tasks. The SDK rejects or ignores an answer that differs from the protocol in any
 * detail, although the call has run. So every answer to a call is put into an envelope that the SDK accepts, before the
 * SDK reads it: nothing of the result is checked, lost or rounded.
 */
export class CallAnswers {
  /** The method of each request that has no answer yet, by id. */
  readonly #openCalls = new Map<number, string>();

  /** Notes a message to the server, or a list of messages. */
  sent(message: unknown): void {
    if (Array.isArray(message)) return message.forEach((each) => this.sent(each));
    if (!isRecord(message)) return;
    const { method, id, params } = message;
    if (CALLS.has(method)) this.#openCalls.set(Number(id), method as string);
    if (method === 'notifications/cancelled' && isRecord(params)) this.#openCalls.delete(Number(params['requestId']));
  }

  /** The text of a message, with answers to calls in envelopes. */
  enveloped(text: string): string {
    if (this.#openCalls.size === 0) return text;
    let message: unknown;
    try {
      message = parseLossless(text);
    } catch {
      return text;
    }
    const isBatch = Array.isArray(message);
    const answers = (isBatch ? (message as unknown[]) : [message]).map((each) => this.#envelope(each));
    if (answers.every((answer) => answer === undefined)) return text;
    const all = answers.map((answer, index) => answer ?? (isBatch ? (message as unknown[])[index] : message));
    return JSON.stringify(isBatch ? all : all[0]);
  }

  /** The answer in an envelope; undefined if the message is not the answer to a call, or asks for input. */
  #envelope(message: unknown): object | undefined {
    if (!isRecord(message) || 'method' in message) return undefined;
    const { id, result, error } = message;
    const method = this.#openCalls.get(Number(id));
    if (!this.#openCalls.delete(Number(id))) return undefined;
    if (error !== undefined && (error !== null || result === undefined))
      return { jsonrpc: '2.0', id, error: readableError(error) };
    if (method === 'tools/call' && asksForInput(result)) return undefined;
    return {
      jsonrpc: '2.0',
      id,
      result: { resultType: 'complete', content: [], structuredContent: { [RESULT]: result } },
    };
  }
}

/** Whether a result is a question of the server. A result that only says so has nothing to answer. */
function asksForInput(result: unknown): boolean {
  if (!isRecord(result) || result['resultType'] !== 'input_required') return false;
  return isRecord(result['inputRequests']) || typeof result['requestState'] === 'string';
}

/** The server's result of a call, as the server wrote it. `answer`: the SDK's result. */
export function resultIn({ structuredContent }: { readonly structuredContent?: unknown }): unknown {
  return isRecord(structuredContent) ? structuredContent[RESULT] : undefined;
}

/** Whether the text of a message may be a request that has to be noted. */
export function mayBeCall(text: string): boolean {
  return text.includes('tools/call') || text.includes('tasks/');
}

/** An error in the form of the protocol. */
export function readableError(error: unknown): { code: number; message: string; data?: unknown } {
  const { code, message, data } = isRecord(error) ? error : { message: error };
  return {
    code: Number.isSafeInteger(code) ? (code as number) : -32_000,
    message: typeof message === 'string' ? message : JSON.stringify(message ?? error),
    ...(data === undefined ? {} : { data }),
  };
}
