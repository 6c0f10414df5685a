import { ToolscriptUsageError } from '../protocol/errors.js';
import type { Tool } from '../protocol/tools.js';
import { declarationFor, firstSentence } from './declarations.js';
import { didYouMean } from '../text/nearest-names.js';
import { knownKeys } from '../schema/object-keys.js';
import type { ObservedShapes } from '../schema/observed-shapes.js';
import { schemaTree } from '../schema/read-schema.js';
import { identifierName, writtenNames } from '../text/identifier-name.js';
import { queryWords, wordSynonyms, searchWords } from './search-words.js';

/** A tool, as a search of the catalog shows it. */
export interface ToolSummary {
  /** The name as a script writes it after `tools.`. */
  readonly name: string;
  /** The first sentence of the tool's description. */
  readonly description: string;
}

/** Finds tools for a script whose prompt did not show all of them. */
export interface ToolCatalog {
  /**
   * Returns the best match first. Tools without any word of the query are omitted. Another form of a word counts, a
   * synonym, and a longer word that starts with it. `limit`: 1 to 50, default 10.
   */
  search(query: string, options?: { limit?: number | undefined }): ToolSummary[];
  /**
   * Returns the tool's declaration; undefined if there is no such tool. If the tool has no output schema, the type of its
   * result is what earlier results looked like, marked as observed.
   */
  describe(name: string): string | undefined;
  /**
   * Returns the message for a name that `describe` does not know. `search`: the expression that finds tools; default
   * `catalog.search(query)`.
   */
  explainMissing(name: string, search?: string): string;
  /** Returns a catalog of the same tools that shows the shapes of results of this principal's calls. */
  forPrincipal(principal: string | undefined): ToolCatalog;
  /** Lists every tool, or the tools in one namespace (`mcp.github`), in their original order. */
  list(namespace?: string): ToolSummary[];
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 50;
const MAX_QUERY_WORDS = 24;
const MAX_QUERY_LENGTH = 1_000;

const NAME_WEIGHT = 3;
const PARAMETER_WEIGHT = 1.5;
const DESCRIPTION_WEIGHT = 1;
/** The share of a token's weight that counts if the query word is only a prefix of the token. */
const PREFIX_SHARE = 0.5;
/** The share if the token is a synonym of the query word. */
const SYNONYM_SHARE = 0.4;
const MIN_PREFIX = 3;
/** Maximum number of tokens that one query word matches as a prefix. */
const MAX_PREFIX_TOKENS = 64;

/** `observed`: the shapes of results that `describe` shows for tools without an output schema. */
export function createCatalog(tools: readonly Tool[], observed?: ObservedShapes): ToolCatalog {
  let made: TokenCatalog | undefined;
  // Created on demand: most scripts never search, and indexing many tools takes time.
  const catalog = () => (made ??= new TokenCatalog(tools, observed));
  const forPrincipal = (principal: string | undefined): ToolCatalog => ({
    search: (query, options) => catalog().search(query, options),
    describe: (name) => catalog().describe(name, principal),
    explainMissing: (name, search) => catalog().explainMissing(name, search),
    list: (namespace) => catalog().list(namespace),
    forPrincipal,
  });
  return forPrincipal(undefined);
}

class TokenCatalog {
  readonly #tools: readonly Tool[];
  readonly #summaries: readonly ToolSummary[];
  readonly #byName = new Map<string, number>();
  /** The weight of each token in each tool: token → tool index → weight. */
  readonly #postings = new Map<string, Map<number, number>>();
  readonly #sortedTokens: readonly string[];
  readonly #observedShapes: ObservedShapes | undefined;

  constructor(tools: readonly Tool[], observed: ObservedShapes | undefined) {
    this.#tools = [...tools];
    this.#observedShapes = observed;
    this.#summaries = tools.map((tool) => ({
      name: identifierName(tool.name),
      description: firstSentence(tool.description),
    }));
    for (const [index, tool] of this.#tools.entries()) this.#index(index, tool);
    this.#sortedTokens = [...this.#postings.keys()].toSorted();
  }

  search(query: string, options: { limit?: number | undefined } = {}): ToolSummary[] {
    const limit = Math.min(MAX_LIMIT, Math.max(1, Math.floor(options.limit ?? DEFAULT_LIMIT) || DEFAULT_LIMIT));
    const words = queryWords(query.slice(0, MAX_QUERY_LENGTH)).slice(0, MAX_QUERY_WORDS);
    const scores = this.#scores(new Set(words));
    const exact = this.#byName.get(query.trim());
    if (exact !== undefined) scores.set(exact, Infinity);
    return [...scores]
      .toSorted(([leftIndex, left], [rightIndex, right]) => (left === right ? leftIndex - rightIndex : right - left))
      .slice(0, limit)
      .map(([index]) => this.#summaries[index] as ToolSummary);
  }

  describe(name: string, principal: string | undefined): string | undefined {
    const index = this.#byName.get(name);
    if (index === undefined) return undefined;
    const tool = this.#tools[index] as Tool;
    const observed = this.#observedShapes?.resultType(tool, principal);
    return declarationFor(tool, () => observed);
  }

  explainMissing(name: string, search = 'catalog.search(query)'): string {
    const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name;
    const names = this.#summaries.map((summary) => summary.name);
    return `There is no tool "${shown}".${didYouMean(name, names) || ` ${search} finds tools.`}`;
  }

  list(namespace?: string): ToolSummary[] {
    if (namespace === undefined || namespace === '') return [...this.#summaries];
    const prefix = `${identifierName(namespace)}.`;
    return this.#summaries.filter((summary) => summary.name.startsWith(prefix));
  }

  #index(index: number, tool: Tool): void {
    for (const name of writtenNames(tool.name)) {
      const other = this.#byName.get(name);
      if (other !== undefined && other !== index)
        throw new ToolscriptUsageError('TOOL_NAMES_COLLIDE', {
          other: this.#tools[other]!.name,
          name: tool.name,
          shared: name,
        });
      this.#byName.set(name, index);
    }
    const weights = new Map<string, number>();
    const weigh = (text: string, weight: number): void => {
      for (const word of searchWords(text)) weights.set(word, Math.max(weights.get(word) ?? 0, weight));
    };
    weigh(tool.name, NAME_WEIGHT);
    for (const parameter of knownKeys(schemaTree(tool.inputSchema).root)) weigh(parameter, PARAMETER_WEIGHT);
    weigh(tool.description.slice(0, 4_000), DESCRIPTION_WEIGHT);
    for (const [token, weight] of weights) this.#post(token, index, weight);
  }

  #post(token: string, index: number, weight: number): void {
    let postings = this.#postings.get(token);
    if (postings === undefined) {
      postings = new Map();
      this.#postings.set(token, postings);
    }
    postings.set(index, weight);
  }

  /** The score of each tool that matches a word: the sum over the words, times the number of words that match. */
  #scores(words: Iterable<string>): Map<number, number> {
    const sums = new Map<number, { score: number; words: number }>();
    for (const word of words)
      for (const [index, score] of this.#wordScores(word)) {
        const sum = sums.get(index);
        if (sum === undefined) sums.set(index, { score, words: 1 });
        else {
          sum.score += score;
          sum.words++;
        }
      }
    return new Map([...sums].map(([index, sum]) => [index, sum.score * sum.words]));
  }

  /** The scores of the tools for one word. A word is as rare as all that matches it together. */
  #wordScores(word: string): Iterable<[index: number, score: number]> {
    const best = new Map<number, number>();
    for (const [match, share] of this.#matches(word)) {
      const postings = this.#postings.get(match) as Map<number, number>;
      for (const [index, weight] of postings) best.set(index, Math.max(best.get(index) ?? 0, weight * share));
    }
    const rarity = Math.log(1 + this.#tools.length / best.size);
    return [...best].map(([index, weight]) => [index, weight * rarity]);
  }

  *#matches(token: string): Iterable<[string, number]> {
    if (this.#postings.has(token)) yield [token, 1];
    for (const synonym of wordSynonyms(token)) if (this.#postings.has(synonym)) yield [synonym, SYNONYM_SHARE];
    if (token.length < MIN_PREFIX) return;
    const start = firstAtLeast(this.#sortedTokens, token);
    for (let index = start; index < start + MAX_PREFIX_TOKENS; index++) {
      const candidate = this.#sortedTokens[index];
      if (candidate === undefined || !candidate.startsWith(token)) return;
      if (candidate !== token) yield [candidate, PREFIX_SHARE];
    }
  }
}

/** Returns the first index whose token is not less than `token`. */
function firstAtLeast(sorted: readonly string[], token: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) < token) low = middle + 1;
    else high = middle;
  }
  return low;
}
