import { createHash } from 'node:crypto';
import type { ProviderApi, ProviderOptions } from '#core/providers/index.js';
import { bindsThinking, isClaude } from '#core/protocol/known-models.js';
import { checkModel } from '#core/providers/scripted/model-rules.js';
import { checkHostedPairs } from '#core/providers/scripted/read-messages.js';
import { Violation } from '#core/providers/scripted/seen-request.js';
import { unpaired } from '../providers/pairs.js';

type Json = Readonly<Record<string, unknown>>;

/** The body of an answer, and what happens in the middle of it. */
export interface TunnelAnswer {
  readonly body: string | Buffer;
  readonly middle?: 'cut' | (() => void);
}

/** Reads the rules that the types of the SDKs contain; see `requestChecks`. */
export type ShapeCheck = (body: object) => readonly string[];

/** The sealed reasoning that services gave. All services of a conversation share it. */
export class SealedBlocks {
  /** The prefixes to which a seal is bound, and the models that gave it. */
  readonly #given = new Map<string, { readonly prefixes: Set<string>; readonly models: Set<string> }>();

  give(seal: string, model: string, prefix: string): void {
    const known = this.#given.get(seal) ?? { prefixes: new Set(), models: new Set() };
    known.prefixes.add(prefix);
    known.models.add(model);
    this.#given.set(seal, known);
  }

  /** The problem of a seal in a request; undefined if there is none. */
  problem(seal: string, model: string, prefix: string | undefined): string | undefined {
    const known = this.#given.get(seal);
    // Models of Claude read or drop the thinking of each other.
    const isReadable = [...(known?.models ?? [])].some((one) => one === model || (isClaude(one) && isClaude(model)));
    if (known === undefined || !isReadable) return `The sealed reasoning ${seal.slice(0, 20)} is not of ${model}.`;
    return prefix === undefined || known.prefixes.has(prefix)
      ? undefined
      : `Invalid \`signature\` in \`thinking\` block: ${seal.slice(0, 20)} is bound to a different conversation.`;
  }
}

export interface TunnelOptions {
  readonly seals?: SealedBlocks | undefined;
  readonly shape?: ShapeCheck | undefined;
  /** The service adds its refusals here. */
  readonly refusals?: string[] | undefined;
}

/**
 * A service of one model, without HTTP. It refuses what the service of this model is documented to refuse, and answers
 * the rest with what `answer` returns.
 */
export class TunnelService {
  readonly api: ProviderApi;
  readonly model: string;
  readonly refusals: string[];
  readonly bodies: Json[] = [];
  readonly #seals: SealedBlocks;
  readonly #shape: ShapeCheck | undefined;
  readonly #answer: (body: Json) => TunnelAnswer;

  constructor(
    api: ProviderApi,
    model: string,
    answer: (body: Json) => TunnelAnswer,
    { seals = new SealedBlocks(), shape, refusals = [] }: TunnelOptions = {},
  ) {
    this.api = api;
    this.model = model;
    this.#answer = answer;
    this.refusals = refusals;
    this.#seals = seals;
    this.#shape = shape;
  }

  readonly fetch: NonNullable<ProviderOptions['fetch']> = async (_url, { body: text, signal }) => {
    const body = JSON.parse(text as string) as Json;
    this.bodies.push(body);
    const problems = this.problemsOf(body, (text as string).length);
    this.refusals.push(...problems.map((problem) => `${this.api} ${this.model}: ${problem}`));
    if (problems.length > 0) {
      const error = { type: 'invalid_request_error', code: 'invalid_request_error', message: problems.join('; ') };
      return new Response(JSON.stringify({ type: 'error', error }), { status: 400 });
    }
    const answer = this.#answer(body);
    this.learn(body, answer.body.toString());
    return new Response(streamed(answer, signal ?? undefined), {
      headers: { 'content-type': 'text/event-stream' },
    });
  };

  /** Remembers the sealed reasoning of an answer to a request. */
  learn(body: Json, answer: string): void {
    for (const seal of sealsOfAnswer(answer)) this.#seals.give(seal, this.model, prefixesOf(this.api, body).at(-1)!);
  }

  /** The reasons to refuse a request. */
  problemsOf(body: Json, bytes = JSON.stringify(body).length): string[] {
    const problems = [
      ...(this.#shape?.(body) ?? []),
      ...unpaired(messagesOf(body).map(withoutWaiting)),
      ...RULES.flatMap((rule) => rule(this.api, body)),
      ...(bytes > MAX_BYTES ? [`The request has ${bytes} bytes; the maximum is ${MAX_BYTES}.`] : []),
      ...this.#sealProblems(body),
    ];
    try {
      checkModel(this.api, body);
      if (this.api === 'anthropic-messages') checkHostedPairs(body.messages as Parameters<typeof checkHostedPairs>[0]);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      problems.push(error.message);
    }
    return problems;
  }

  #sealProblems(body: Json): string[] {
    const binds = this.api === 'anthropic-messages' && bindsThinking(this.model);
    const prefixes = binds ? prefixesOf(this.api, body) : [];
    return messagesOf(body).flatMap((message, index) =>
      sealsOf(message).flatMap((seal) => this.#seals.problem(seal, this.model, prefixes[index]) ?? []),
    );
  }
}

/** https://platform.claude.com/docs/en/api/overview (32 MB), read on 2026-11-28. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Names: "Required string length: 1 - 128" in Messages; up to 64 characters at OpenAI. */
const NAMES: Readonly<Record<ProviderApi, RegExp>> = {
  'openai-responses': /^[\w-]{1,64}$/u,
  'openai-chat': /^[\w-]{1,64}$/u,
  'anthropic-messages': /^[\w-]{1,128}$/u,
};

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : []);

function messagesOf(body: Json): readonly Json[] {
  return listOf(body.input ?? body.messages);
}

/** The message without what may wait for its result: programs, and the hosted calls of Messages. */
function withoutWaiting(message: Json): Json {
  const mayWait = ({ type }: Json): boolean => /^program|^(?:server|mcp)_tool_use$|.+_tool_result$/u.test(String(type));
  if (mayWait(message)) return {};
  return Array.isArray(message.content)
    ? { ...message, content: listOf(message.content).filter((one) => !mayWait(one)) }
    : message;
}

type Rule = (api: ProviderApi, body: Json) => string[];

/** The names and ids of calls and tools. */
const namesAreLegal: Rule = (api, body) => {
  const calls = messagesOf(body).flatMap((message) => {
    const own = ['function_call', 'custom_tool_call'].includes(String(message.type)) ? [message] : [];
    const functions = listOf(message.tool_calls).map((call) => call.function as Json);
    return [...own, ...functions, ...listOf(message.content).filter(({ type }) => type === 'tool_use')];
  });
  const tools = listOf(body.tools)
    .map((tool) => (tool.function as Json | undefined) ?? tool)
    .filter(({ name }) => name !== undefined);
  return [...calls, ...tools]
    .map(({ name }) => String(name))
    .filter((name) => !NAMES[api].test(name))
    .map((name) => `The name ${JSON.stringify(name)} does not match ${NAMES[api].source}.`);
};

/** Results follow their calls at once: `tool` messages in Chat, the first blocks of the next message in Messages. */
const resultsFollow: Rule = (api, body) => {
  if (api === 'openai-responses') return [];
  const messages = messagesOf(body);
  return messages.flatMap((message, index) => {
    const uses = listOf(message.content).filter(({ type }) => type === 'tool_use');
    const calls = [...listOf(message.tool_calls), ...uses].map(({ id }) => id);
    const following =
      api === 'openai-chat'
        ? messages.slice(index + 1, index + 1 + calls.length)
        : listOf(messages[index + 1]?.content).slice(0, calls.length);
    const results = following.map(({ tool_call_id: chat, tool_use_id: own }) => chat ?? own);
    const missing = calls.filter((id) => !results.includes(id));
    return missing.map((id) => `messages.${index}: the call ${String(id)} has no result right after it.`);
  });
};

/** In Messages: texts have content, the user begins, at most four marks. */
const messagesAreWhole: Rule = (api, body) => {
  const messages = messagesOf(body);
  if (messages.length === 0) return ['There are no messages.'];
  if (api !== 'anthropic-messages') return [];
  const marks = JSON.stringify(body).split('"cache_control":{').length - 1;
  const blank = messages.some(({ content }) =>
    listOf(content).some(({ type, text }) => type === 'text' && String(text).trim() === ''),
  );
  return [
    ...(messages[0]!.role === 'user' ? [] : ['The first message is not from the user.']),
    ...(blank ? ['text content blocks must contain non-whitespace text'] : []),
    ...(marks > 4 ? [`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`] : []),
  ];
};

/** "Requests which include `tool_use` or `tool_result` blocks must define tools": of Messages alone. */
const callsHaveTools: Rule = (api, body) => {
  const calls = messagesOf(body).some(({ content }) => listOf(content).some(({ type }) => type === 'tool_use'));
  return api === 'anthropic-messages' && calls && listOf(body.tools).length === 0
    ? ['The conversation has calls, but the request defines no tools.']
    : [];
};

const RULES: readonly Rule[] = [namesAreLegal, resultsFollow, messagesAreWhole, callsHaveTools];

/** The seals of reasoning in a part of a request. */
function sealsOf({ type, content, encrypted_content: sealed }: Json): string[] {
  const blocks = listOf(content).flatMap(({ type: kind, signature, data }) =>
    kind === 'thinking' ? [String(signature)] : kind === 'redacted_thinking' ? [String(data)] : [],
  );
  return type === 'reasoning' && typeof sealed === 'string' ? [sealed] : blocks;
}

/** The seals in a stream of events. */
function sealsOfAnswer(stream: string): string[] {
  const found: string[] = [];
  for (const [, json] of stream.matchAll(/"(?:signature|encrypted_content|data)":\s*("(?:[^"\\]|\\.)*")/gu))
    found.push(JSON.parse(json!) as string);
  return found;
}

/** A hash of what precedes each message, and the answer, without cache marks. */
function prefixesOf(api: ProviderApi, body: Json): string[] {
  const plain = (value: unknown): string =>
    JSON.stringify(value, (name, member: unknown) => (name === 'cache_control' ? undefined : member)) ?? '';
  const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
  const hashes = [hash(plain([api, body.system, body.tools]))];
  for (const message of messagesOf(body)) hashes.push(hash(hashes.at(-1)! + plain(message)));
  return hashes;
}

function streamed({ body, middle }: TunnelAnswer, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(body);
  let half = middle === undefined ? bytes.length : Math.floor(bytes.length / 2);
  let isSent = false;
  return new ReadableStream({
    start(controller) {
      signal?.addEventListener('abort', () => {
        half = 0;
        try {
          controller.error(signal.reason);
        } catch {
          // The stream has ended.
        }
      });
    },
    pull(controller) {
      if (!isSent) {
        isSent = true;
        if (half > 0) controller.enqueue(new Uint8Array(bytes.subarray(0, half)));
        return;
      }
      if (middle === undefined) return controller.close();
      if (middle === 'cut') return controller.error(new Error('The connection broke.'));
      middle();
      return new Promise<void>(() => {});
    },
  });
}
