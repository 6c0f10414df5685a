import { defineTool } from '@toolscript/core';
import { isRecord } from '@toolscript/core/internal';
import { ToolscriptUsageError, type JsonObject, type Tool } from '@toolscript/core/protocol';
import { failure } from '../failure.js';
import { templateVariables, type TemplatePart } from './template.js';

const MAX_VARIABLES = 100;
const MAX_SCHEMA = 10_000;

/** The variables of one prompt. */
export interface PromptVariables {
  /** JSON Schema of an object. */
  readonly schema: JsonObject;
  /** Returns the text of each variable. Throws one failure that lists the missing, unknown and wrong variables. */
  readonly check: (name: string, given: Readonly<Record<string, unknown>>) => ReadonlyMap<string, string>;
}

/**
 * Reads the variables of a prompt. Without a schema, the prompt needs each of its variables, as text, a number or a
 * boolean. Throws a failure for too many variables, for an invalid or too long schema, and for a variable of the text
 * that the schema does not declare.
 */
export function readVariables(parts: readonly TemplatePart[], given: JsonObject | undefined): PromptVariables {
  const used = templateVariables(parts);
  if (used.length > MAX_VARIABLES)
    throw failure(
      'bad_prompt',
      `The prompt has ${used.length} variables; at most ${MAX_VARIABLES} are allowed. Use fewer.`,
    );
  const { length } = JSON.stringify(given ?? {});
  if (length > MAX_SCHEMA)
    throw failure(
      'bad_prompt',
      `The schema of the variables has ${length} characters; at most ${MAX_SCHEMA} are allowed. Make it shorter.`,
    );
  const schema = given === undefined ? schemaFor(used) : closedSchema(given);
  const declared = new Set(Object.keys(isRecord(schema['properties']) ? schema['properties'] : {}));
  const undeclared = used.filter((name) => !declared.has(name));
  if (undeclared.length > 0)
    throw failure(
      'bad_prompt',
      `The schema of the variables has no properties for: ${undeclared.join(', ')}. Add them, or remove these variables from the text.`,
      { undeclared },
    );
  const validator = openValidator(schema);
  return { schema, check: (name, values) => checkVariables({ name, values, declared, validator }) };
}

function schemaFor(names: readonly string[]): JsonObject {
  const properties = Object.fromEntries(names.map((name) => [name, { type: ['string', 'number', 'boolean'] }]));
  return { type: 'object', properties, required: [...names], additionalProperties: false };
}

/** The schema without additional properties. Unknown variables are mistakes, even if the schema allows them. */
function closedSchema(schema: JsonObject): JsonObject {
  return { ...schema, type: 'object', additionalProperties: false };
}

/** The validator of tools' arguments, which applies defaults and knows the limits of schemas. */
function openValidator(inputSchema: JsonObject): Tool['validateInput'] {
  try {
    return defineTool({ name: 'variables', description: '', inputSchema, execute: () => undefined }).validateInput;
  } catch (error) {
    if (!(error instanceof ToolscriptUsageError)) throw error;
    const reason = error.message.replace(/^The input of the tool "variables"/u, 'The schema of the variables');
    throw failure('bad_prompt', reason);
  }
}

interface CheckedVariables {
  readonly name: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly declared: ReadonlySet<string>;
  readonly validator: Tool['validateInput'];
}

function checkVariables({ name, values, declared, validator }: CheckedVariables): ReadonlyMap<string, string> {
  const unknown = Object.keys(values).filter((key) => !declared.has(key));
  const known = Object.fromEntries(Object.entries(values).filter(([key]) => declared.has(key)));
  const checked = validator(known);
  const issues = checked.ok ? [] : checked.issues;
  const isMissing = (path: string) => declared.has(path) && !Object.hasOwn(known, path);
  const paths = issues.map((issue) => ({ ...issue, path: issue.path.replace(/^args\.?/u, '') }));
  const missing = paths.filter(({ path }) => isMissing(path)).map(({ path }) => path);
  const wrong = paths.filter(({ path }) => !isMissing(path)).map(({ path, message }) => `${path} (${message})`);
  if (checked.ok && unknown.length === 0)
    return new Map(Object.entries(checked.value as JsonObject).map(([key, value]) => [key, variableText(value)]));
  const faults = Object.entries({ missing, unknown, wrong }).filter(([, list]) => list.length > 0);
  const listed = faults.map(([kind, list]) => `${kind}: ${list.join(', ')}`).join('; ');
  const expected = declared.size === 0 ? 'It has no variables.' : `Its variables are: ${[...declared].join(', ')}.`;
  throw failure('bad_variables', `The variables of the prompt "${name}" are wrong: ${listed}. ${expected}`, {
    missing,
    unknown,
    wrong,
  });
}

function variableText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
