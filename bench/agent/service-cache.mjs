/*
 * The part of the input that a service reads from its cache, by the documented rules (read on 2026-11-28). A prefix of
 * fewer than 1024 tokens is not cached.
 * - Anthropic (https://platform.claude.com/docs/en/build-with-claude/prompt-caching): a request writes the prefix up to
 *   each of its marks. It reads the longest written prefix that ends at a mark, or at most 20 blocks before one.
 * - OpenAI, from GPT-5.6 on (https://developers.openai.com/api/docs/guides/prompt-caching): a request writes the prefix
 *   up to its last message, and reads the longest one that a request with the same `prompt_cache_key` wrote.
 */

/** Tokens of the shortest prefix that is cached. */
export const LEAST = 1024;
const LOOKBACK = 20;

/** @param {unknown} value @returns {unknown[]} */
const listed = (value) => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

/**
 * The parts of the input in the order in which the service reads them.
 *
 * @param {string} api
 * @param {Record<string, any>} body
 * @returns {unknown[]}
 */
function partsOf(api, body) {
  if (api === 'openai-responses') return [body.tools, body.instructions, ...listed(body.input)];
  if (api === 'openai-chat') return [body.tools, ...listed(body.messages)];
  const contents = listed(body.messages).flatMap((/** @type {any} */ { content }) => listed(content));
  return [...listed(body.tools), ...listed(body.system), ...contents];
}

/** @param {unknown} part */
export const withoutMark = (part) =>
  JSON.stringify(part, (name, value) => (name === 'cache_control' ? undefined : value)) ?? '';

/** @param {unknown} part */
const isMarked = (part) => typeof part === 'object' && part !== null && 'cache_control' in part;

/** The cache of a service, and the tokens of the requests that it has taken. */
export class ServiceCache {
  /** @type {Set<string>} */
  #written = new Set();
  #api;
  input = 0;
  cached = 0;

  /** @param {string} api */
  constructor(api) {
    this.#api = api;
  }

  /** @param {Record<string, any>} body The body of a request. */
  take(body) {
    const parts = partsOf(this.#api, body);
    const texts = parts.map(withoutMark);
    /** @param {number} end */
    const prefix = (end) => `${body.prompt_cache_key}\n${texts.slice(0, end + 1).join('\n')}`;
    /** @param {number} end */
    const tokens = (end) => texts.slice(0, end + 1).join('').length / 4;
    const last = parts.length - 1;
    const marks = parts.flatMap((part, index) => (isMarked(part) ? [index] : []));
    const writes = this.#api === 'anthropic-messages' ? marks : [last];
    /** @param {number} end */
    const isReadable = (end) =>
      this.#api !== 'anthropic-messages' || marks.some((mark) => end <= mark && end >= mark - LOOKBACK);
    const hit = texts.findLastIndex((_text, end) => isReadable(end) && this.#written.has(prefix(end)));
    this.input += tokens(last);
    if (hit !== -1) this.cached += tokens(hit);
    for (const end of writes) if (tokens(end) >= LEAST) this.#written.add(prefix(end));
  }

  get share() {
    return this.cached / this.input;
  }
}
