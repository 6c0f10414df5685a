import { limitedSignal } from '@toolscript/core/internal';
import { failure, failureMessage } from '../failure.js';

/** The options of a web service that needs a key. */
export interface ServiceOptions {
  readonly apiKey?: string | undefined;
  /** The base URL. Default: the service's own URL. */
  readonly baseUrl?: string | undefined;
}

export interface Service {
  readonly name: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  /** The setting that contains the key, for messages. */
  readonly setting: string;
}

const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 20_000_000;

/** Posts JSON and returns the JSON of the response. Throws a ToolCallError that never contains the key. */
export async function callService(
  service: Service,
  path: string,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<unknown> {
  const { name, apiKey, baseUrl } = service;
  const limited = limitedSignal(TIMEOUT_MS, signal);
  let text: string;
  let status: number;
  try {
    const response = await fetch(`${baseUrl.replace(/(?<!\/)\/+$/u, '')}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      // Another host must not get the key.
      // defence: service-keys-follow-no-redirect
      redirect: 'manual',
      signal: limited,
    });
    status = response.status;
    text = await boundedText(response, name);
  } catch (error) {
    throw unreachable(error, name, signal);
  }
  if (status !== 200) throw serviceRefusal(service, status);
  return parsedAnswer(text, name);
}

async function boundedText(response: Response, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // defence: service-answers-are-bounded
    if (bytes > MAX_ANSWER_BYTES)
      throw failure(
        'too_large',
        `${name} sent more than ${MAX_ANSWER_BYTES} bytes. Request fewer results, or another page.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsedAnswer(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw failure('unavailable', `${name} sent an answer that is not JSON. Try again later.`);
  }
}

function unreachable(error: unknown, name: string, signal: AbortSignal): Error {
  if ((error as { code?: unknown }).code === 'ToolExecutionError') return error as Error;
  if (signal.aborted) return failure('aborted', 'The call was aborted before it ended.');
  const { name: kind, cause } = error as {
    name?: string | undefined;
    cause?: { code?: string | undefined } | undefined;
  };
  if (kind === 'TimeoutError')
    return failure('timed_out', `${name} did not answer within ${TIMEOUT_MS} ms. Try again later.`);
  return failure(
    'unavailable',
    `${name} could not be reached: ${cause?.code ?? failureMessage(error)}. Check the network.`,
  );
}

function serviceRefusal({ name, setting }: Service, status: number): Error {
  if (status === 401 || status === 403)
    return failure('unavailable', `${name} rejects the key (status ${status}). Check ${setting}.`, { status });
  if (status === 402)
    return failure(
      'unavailable',
      `${name} reports that the account of ${setting} has no credit left. Add credit to it.`,
      { status },
    );
  if (status === 429)
    return failure('unavailable', `${name} reports too many requests (status 429). Try again later.`, { status });
  return failure('unavailable', `${name} answered with status ${status}. Try again later, or with another input.`, {
    status,
  });
}
