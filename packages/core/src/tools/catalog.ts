import { ToolscriptUsageError } from '../protocol/errors.js';
import type { Tool } from '../protocol/tools.js';
import { declarationFor, firstSentence } from './declarations.js';
import { didYouMean, nameTokens } from '../text/nearest-names.js';
import { knownKeys } from '../schema/object-keys.js';
import type { ObservedShapes } from '../schema/observed-shapes.js';
import { schemaTree } from '../schema/read-schema.js';
import { identifierName, writtenNames } from '../text/identifier-name.js';

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
   * Returns the best match first. Tools without a word that starts with a word of the query are omitted. `limit`: 1 to
   * 50, default 10.
   */
  search(query: string, options?: { limit?: number | undefined }): ToolSummary[];
  /**
   * Returns the tool's declaration, with the observed shape of its results if the tool has no output schema; undefined
   * if there is no such tool.
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
const MAX_QUERY_TOKENS = 24;
const MAX_QUERY_LENGTH = 1_000;

const NAME_WEIGHT = 8;
const PARAMETER_WEIGHT = 2;
const DESCRIPTION_WEIGHT = 1;
/** The share of a token's weight that counts if the query word is only a prefix of the token. */
const PREFIX_SHARE = 0.5;
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
  readonly #descriptions = new Map<number, string>();
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
    const scores = new Map<number, number>();
    for (const token of queryTokens(query)) this.#score(token, scores);
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
    let declaration = this.#descriptions.get(index);
    if (declaration === undefined) this.#descriptions.set(index, (declaration = declarationFor(tool)));
    const observed = tool.outputSchema === undefined ? this.#observedShapes?.resultType(tool, principal) : undefined;
    return observed === undefined ? declaration : `${declaration}// observed, not promised: Promise<${observed}>\n`;
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
      for (const token of nameTokens(text)) weights.set(stem(token), Math.max(weights.get(stem(token)) ?? 0, weight));
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

  #score(token: string, scores: Map<number, number>): void {
    const best = new Map<number, number>();
    for (const [match, share] of this.#matches(token)) {
      const postings = this.#postings.get(match) as Map<number, number>;
      const rarity = Math.log(1 + this.#tools.length / postings.size);
      for (const [index, weight] of postings) best.set(index, Math.max(best.get(index) ?? 0, weight * share * rarity));
    }
    for (const [index, score] of best) scores.set(index, (scores.get(index) ?? 0) + score);
  }

  *#matches(token: string): Iterable<[string, number]> {
    if (this.#postings.has(token)) yield [token, 1];
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

function queryTokens(query: string): Set<string> {
  return new Set(nameTokens(query.slice(0, MAX_QUERY_LENGTH)).map(stem).slice(0, MAX_QUERY_TOKENS));
}

/** Returns the stem of a word: `files` and `file`, `queries` and `query` are one word. */
function stem(token: string): string {
  if (token.length > 4 && token.endsWith('ies')) return `${token.slice(0, -3)}y`;
  return token.length > 3 && token.endsWith('s') && !token.endsWith('ss') ? token.slice(0, -1) : token;
}
