import type { CallResult, ToolCatalog } from '../tools/index.js';
import { readArguments, textArgument } from './builtin-arguments.js';

/** Maximum number of a script's queries with cached answers, and maximum characters of one query. */
const MAX_KEPT = 64;
const MAX_QUESTION_UNITS = 1_024;

/** Answers a script's `catalog.search`, `catalog.describe` and `catalog.list`, from a cache if possible. */
export class CatalogCalls {
  readonly #catalog: ToolCatalog;
  readonly #answers = new Map<string, CallResult>();

  constructor(catalog: ToolCatalog) {
    this.#catalog = catalog;
  }

  /** Throws a `TypeError` for an invalid query. */
  answer(questionJson: string): CallResult {
    const known = this.#answers.get(questionJson);
    if (known !== undefined) return known;
    const made = answerCatalog(this.#catalog, questionJson);
    if (this.#answers.size < MAX_KEPT && questionJson.length <= MAX_QUESTION_UNITS)
      this.#answers.set(questionJson, made);
    return made;
  }
}

function answerCatalog(catalog: ToolCatalog, questionJson: string): CallResult {
  const { what, query, limit, name, namespace } = readArguments(questionJson);
  switch (what) {
    case 'search':
      return answer(catalog.search(textArgument(query), typeof limit === 'number' ? { limit } : {}));
    case 'list':
      return answer(catalog.list(namespace === undefined ? undefined : textArgument(namespace)));
    case 'describe': {
      const declaration = catalog.describe(textArgument(name));
      if (declaration !== undefined) return answer(declaration);
      const message = catalog.explainMissing(textArgument(name));
      return { ok: false, error: { code: 'ToolNotFoundError', message } };
    }
    default:
      throw new TypeError('the catalog has no such function');
  }
}

function answer(value: unknown): CallResult {
  return { ok: true, json: JSON.stringify(value) };
}
