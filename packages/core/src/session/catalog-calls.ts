import type { CallResult, ToolCatalog } from '../tools/index.js';

type CatalogQuestion =
  | { what: 'search'; query: string; limit?: number | null }
  | { what: 'describe'; name: string }
  | { what: 'list'; namespace?: string };

/** Answers a script's `catalog.search`, `catalog.describe` and `catalog.list`. */
export function answerCatalog(catalog: ToolCatalog, questionJson: string): CallResult {
  const question = JSON.parse(questionJson) as CatalogQuestion;
  switch (question.what) {
    case 'search':
      return answer(
        catalog.search(question.query, typeof question.limit === 'number' ? { limit: question.limit } : {}),
      );
    case 'list':
      return answer(catalog.list(question.namespace));
    case 'describe': {
      const declaration = catalog.describe(question.name);
      if (declaration !== undefined) return answer(declaration);
      return { ok: false, error: { code: 'ToolNotFoundError', message: catalog.explainMissing(question.name) } };
    }
  }
}

function answer(value: unknown): CallResult {
  return { ok: true, json: JSON.stringify(value) };
}
