import { schemaProblem } from '@toolscript/core/agent';

/** Maximum number of characters of the JSON text of a schema: each request to a model contains it. */
const MAX_SCHEMA = 100_000;

/** The reason why a submitter's JSON Schema of the final answer cannot be used; undefined if it can. */
export function answerSchemaProblem(schema: Readonly<Record<string, unknown>> | undefined): string | undefined {
  if (schema === undefined) return undefined;
  const { length } = JSON.stringify(schema);
  return length > MAX_SCHEMA
    ? `The schema of the answer has ${length} characters. The maximum is ${MAX_SCHEMA}. Make it simpler.`
    : schemaProblem(schema);
}
