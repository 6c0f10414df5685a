import { ToolscriptUsageError } from '../protocol/index.js';
import { compileJsonSchema } from '../schema/index.js';

/** The JSON value of a final answer, or the problem if the answer does not fit the schema. */
export type CheckedAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** The JSON Schema of a final answer. */
export interface AnswerSchema {
  readonly schema: Readonly<Record<string, unknown>>;
  /** The text that requests an answer which fits the schema. It ends a prompt. */
  readonly request: string;
  check(answer: string): CheckedAnswer;
  /**
   * The prompt that asks the model to repair an answer that does not fit the schema. The model repairs an answer once.
   */
  repair(problem: string): string;
}

const MAX_ISSUES = 5;

/** Reads a JSON Schema. Throws a `ToolscriptUsageError` that says why the schema cannot be used. */
export function answerSchema(schema: unknown): AnswerSchema {
  const validate = validator(schema);
  const request = `End with an answer that is one JSON value and nothing else: no other text, no code fence. It must be valid for this JSON Schema:\n${JSON.stringify(schema)}`;
  return {
    schema: schema as Readonly<Record<string, unknown>>,
    request,
    check(answer) {
      const text = withoutFence(answer.trim());
      if (text === '') return { ok: false, problem: 'the answer is empty' };
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (error) {
        return { ok: false, problem: `the answer is not JSON: ${(error as Error).message}` };
      }
      const problem = validate(value);
      return problem === undefined ? { ok: true, value } : { ok: false, problem };
    },
    repair: (problem) => `Your final answer does not fit the JSON Schema: ${problem}.\n\n${request}`,
  };
}

/**
 * Returns a function that reports why a value does not fit the schema. The function returns undefined if the value
 * fits.
 */
function validator(schema: unknown): (value: unknown) => string | undefined {
  const { validate } = compileJsonSchema(schema, 'output', 'The schema of the answer');
  return (value) => {
    const result = validate(value);
    if (result.ok) return undefined;
    return result.issues
      .slice(0, MAX_ISSUES)
      .map(({ path, message }) => `answer${path.replace(/^args/u, '')}: ${message}`)
      .join('; ');
  };
}

/** The reason why a JSON Schema cannot be used; undefined if it can. */
export function schemaProblem(schema: unknown): string | undefined {
  try {
    answerSchema(schema);
    return undefined;
  } catch (error) {
    if (error instanceof ToolscriptUsageError) return error.message;
    throw error;
  }
}

/** Removes a code fence: models often write JSON in one, even if the prompt forbids it. */
function withoutFence(text: string): string {
  return /^```(?:json)?[^\S\n]*\n(.*)\n```$/su.exec(text)?.[1] ?? text;
}
