import { sha256 } from '../../text/crypto.js';
import type { PlannedAnswer } from './planned-answer.js';
import { Name } from './read-wire.js';
import { isJsonObject } from '../wire-values.js';
import { reasoningBlob, Violation, type SeenMessage, type SeenRequest, type SpokenPart } from './seen-request.js';

/** The last answer of the server, and the messages that it answered. */
interface LastAnswer {
  readonly messages: readonly SeenMessage[];
  readonly echo: readonly SpokenPart[];
  /**
   * False if the connection broke or the caller stopped reading. The next request may then contain only a part of the
   * answer.
   */
  whole: boolean;
}

/**
 * Checks the requests of one thread as a strict provider would: history does not change, answers come back unchanged,
 * and every call has one result at the right position.
 */
export class RequestJudge {
  #frozen: string | undefined;
  #lastAnswer: LastAnswer | undefined;
  /** The prefix to which each thinking block of Anthropic Messages is bound, by the block. */
  readonly #prefixes = new Map<string, string>();

  /**
   * `mayChange`: the request may change what precedes its new messages.
   *
   * @throws Violation with a sentence for the author of the request.
   */
  judge(request: SeenRequest, mayChange = false): readonly SeenMessage[] {
    this.#checkBinding(request);
    if (mayChange) this.#beginOver();
    this.#checkFrozen(request);
    const fresh = this.#newMessages(request.messages);
    if (this.#lastAnswer !== undefined) checkEcho(fresh, this.#lastAnswer);
    checkPairs(request);
    checkTools(request);
    if (request.messages.at(-1)?.by !== 'other')
      throw new Violation(
        'The last message is from the assistant, so there is nothing to answer. End with a user message or a result.',
      );
    this.#frozen ??= request.frozen;
    return fresh;
  }

  /** Starts an answer. The returned function marks it as fully delivered. */
  answering(request: SeenRequest, { parts, isBackground }: PlannedAnswer, echo: readonly SpokenPart[]): () => void {
    const { messages } = request;
    const prefix = prefixHashes(request).at(-1)!;
    for (const part of echo) if (part.type === 'reasoning') this.#prefixes.set(part.blob, prefix);
    const given: LastAnswer = { messages, echo: withoutLooseReasoning(echo), whole: false };
    this.#lastAnswer = given;
    const isWhole = !parts.some(({ type }) => (type === 'cut' && !isBackground) || type === 'error');
    return () => {
      given.whole = isWhole;
    };
  }

  /** Called if the next request does not contain the conversation so far. */
  beginAnew(): void {
    this.#lastAnswer = undefined;
  }

  #beginOver(): void {
    this.beginAnew();
    this.#frozen = undefined;
  }

  /**
   * Source: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, as read on
   * 2026-11-28.
   */
  #checkBinding(request: SeenRequest): void {
    if (request.api !== 'anthropic-messages') return;
    const hashes = prefixHashes(request);
    for (const [index, { spoken }] of request.messages.entries()) {
      const isMoved = (part: SpokenPart): boolean =>
        part.type === 'reasoning' && (this.#prefixes.get(part.blob) ?? hashes[index]) !== hashes[index];
      const block = spoken.findIndex(isMoved);
      if (block !== -1)
        throw new Violation(
          `messages.${index}.content.${block}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation.`,
        );
    }
  }

  #checkFrozen({ frozen }: SeenRequest): void {
    if (this.#frozen === undefined || this.#frozen === frozen) return;
    throw new Violation(
      'The system text or the tools changed within the thread, which invalidates the prompt cache. Send the same system text and tools with every request.',
    );
  }

  #newMessages(messages: readonly SeenMessage[]): readonly SeenMessage[] {
    const before = this.#lastAnswer?.messages ?? [];
    const changed = before.findIndex(({ json }, index) => messages[index]?.json !== json);
    if (changed === -1) return messages.slice(before.length);
    const now = messages[changed]?.json ?? 'nothing';
    throw new Violation(
      `Message ${changed} was changed or removed: it was ${excerpt(before[changed]!.json)} and is now ${excerpt(now)}. Send the earlier messages unchanged.`,
    );
  }
}

/** A hash of what precedes each message, and the answer: the system text, the tools and the earlier messages. */
function prefixHashes({ frozen, messages }: SeenRequest): string[] {
  const hashes = [sha256(frozen)];
  for (const { json } of messages) hashes.push(sha256(hashes.at(-1) + json));
  return hashes;
}

/** Services refuse a conversation with calls if the request offers no tools. The calls may name other tools. */
function checkTools({ messages, tools }: SeenRequest): void {
  const call = messages.flatMap(({ spoken }) => spoken).find(({ type }) => type === 'call');
  if (call?.type !== 'call' || tools.size > 0) return;
  throw new Violation(
    `The conversation calls the tool "${call.name}", but the request defines no tools. Add the tools to the request.`,
  );
}

/** Drops reasoning at the end of an answer: a request must not send back reasoning that no item follows. */
function withoutLooseReasoning(echo: readonly SpokenPart[]): readonly SpokenPart[] {
  return echo.slice(0, echo.findLastIndex(({ type }) => type !== 'reasoning') + 1);
}

function checkEcho(fresh: readonly SeenMessage[], { echo, whole }: LastAnswer): void {
  const otherAt = fresh.findIndex(({ by }) => by === 'other');
  const spoken = fresh.slice(0, otherAt === -1 ? fresh.length : otherAt).flatMap((message) => message.spoken);
  const said = echo.some(({ type }) => type === 'reasoning')
    ? spoken
    : spoken.filter((part) => !isEmptyReasoning(part));
  if (!whole && said.length === 0) return;
  const differs = said.findIndex((spoken, index) => !isSame(spoken, echo[index], whole));
  const missing = whole && differs === -1 && said.length < echo.length;
  if ((differs === -1 && !missing) || endsAtScript(said, echo)) return;
  const index = differs === -1 ? said.length : differs;
  throw new Violation(
    `The answer came back changed: part ${index} was ${excerpt(JSON.stringify(echo[index] ?? null))} ` +
      `and is now ${excerpt(JSON.stringify(said[index] ?? null))}. Send the answer back unchanged.`,
  );
}

/** Servers that require reasoning accept an empty text if the model sent no reasoning. */
function isEmptyReasoning(part: SpokenPart): boolean {
  return part.type === 'reasoning' && part.blob === reasoningBlob('');
}

/**
 * Whether the request sends the answer back only up to a script in the text. A caller may stop reading after the
 * script.
 */
function endsAtScript(said: readonly SpokenPart[], echo: readonly SpokenPart[]): boolean {
  const last = said.at(-1);
  if (last?.type !== 'text' || !/(?:<\/tool-calls>|\n```)$/u.test(last.text)) return false;
  const before = said.slice(0, -1).every((spoken, index) => isSame(spoken, echo[index], true));
  return before && isSame(last, echo[said.length - 1], false);
}

function isSame(said: SpokenPart, given: SpokenPart | undefined, whole: boolean): boolean {
  if (given === undefined || said.type !== given.type) return false;
  if (said.type === 'call' && given.type === 'call') return isSameCall(said, given);
  if (said.type === 'text' && given.type === 'text' && !whole) return given.text.startsWith(said.text);
  return JSON.stringify(said) === JSON.stringify(given);
}

type SpokenCall = Extract<SpokenPart, { type: 'call' }>;

/** A name, an id or arguments that no request may contain come back as legal ones. */
function isSameCall(said: SpokenCall, given: SpokenCall): boolean {
  return (
    (said.id === given.id || !Name.safeParse(given.id).success) &&
    (said.name === given.name || !Name.safeParse(given.name).success) &&
    (said.arguments === given.arguments || (!isJsonObject(given.arguments) && isJsonObject(said.arguments)))
  );
}

/** Each call has one result, directly after the answer that made it, in the order of the calls. */
function checkPairs({ api, messages }: SeenRequest): void {
  const open: string[] = [];
  const known = new Set<string>();
  let answered = false;
  for (const [index, { by, spoken, results }] of messages.entries()) {
    for (const id of results) {
      if (open[0] !== id) throw new Violation(`Message ${index}: ${resultProblem(id, open, known)}`);
      open.shift();
    }
    const mayContinue = by === 'assistant' && api === 'openai-responses' && !answered;
    if (by === 'assistant' && api !== 'openai-responses' && spoken.at(-1)?.type === 'reasoning')
      throw new Violation(`Message ${index}: the last part of an answer cannot be reasoning.`);
    const isRest = results.length > 0 && api !== 'anthropic-messages';
    if (open.length > 0 && !mayContinue && !isRest)
      throw new Violation(`Message ${index}: the call "${open[0]}" has no result before this message.`);
    for (const said of spoken) {
      if (said.type !== 'call') continue;
      if (known.has(said.id)) throw new Violation(`Message ${index}: the call id "${said.id}" occurs twice.`);
      known.add(said.id);
      open.push(said.id);
    }
    answered = results.length > 0 && open.length > 0;
  }
  const loose = messages.findIndex(
    ({ spoken }, index) => spoken.at(-1)?.type === 'reasoning' && messages[index + 1]?.by !== 'assistant',
  );
  if (loose !== -1)
    throw new Violation(
      `Message ${loose}: the item that follows the reasoning is missing. Send the reasoning together with that item.`,
    );
  if (open.length > 0) throw new Violation(`The call "${open[0]}" has no result.`);
}

function resultProblem(id: string, open: readonly string[], known: ReadonlySet<string>): string {
  if (open.includes(id))
    return `the result of "${id}" comes before that of "${open[0]}"; results follow their calls in order.`;
  if (known.has(id)) return `the call "${id}" has a second result.`;
  return `the result of "${id}" belongs to no call.`;
}

const EXCERPT_LENGTH = 200;

function excerpt(text: string): string {
  return text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text;
}
