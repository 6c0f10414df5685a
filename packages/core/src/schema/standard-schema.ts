import { ToolscriptUsageError } from '../protocol/errors.js';
import type { ValidationResult, ValidationIssue } from '../protocol/tools.js';
import type { ValuePath } from '../text/value-path.js';
import { compileJsonSchema } from './json-schema.js';
import { copyJson, NotJsonError } from './json-text.js';
import { plainIssue } from './validation-issues.js';
import type { CompiledSchema } from './zod-schema.js';

/**
 * A schema of any library that implements Standard Schema (version 1) and Standard JSON Schema: ArkType from 2.1.28,
 * Valibot with `toStandardJsonSchema` of `@valibot/to-json-schema`, and others. See https://standardschema.dev.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
      readonly output: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * Returns how a value implements the standard; undefined if the value does not. `partial`: the schema has no JSON
 * Schema, which models need to see it.
 */
export function standardKind(value: unknown): 'complete' | 'partial' | undefined {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  if (!isObject || !('~standard' in value)) return undefined;
  const { jsonSchema, validate } = (value as Partial<StandardSchema>)['~standard'] ?? {};
  return typeof jsonSchema?.input === 'function' && typeof validate === 'function' ? 'complete' : 'partial';
}

/**
 * Compiles a schema. Validation first applies the JSON Schema, with the limits of `compileJsonSchema`: it rejects
 * unknown keys of an input and fills in defaults. The schema's own library then checks the rules that a JSON Schema
 * cannot express, and may add defaults. A value that a second validation would change again is refused, because a
 * suspended call is validated again when the call is resumed.
 */
export function compileStandardSchema(
  schema: StandardSchema,
  direction: 'input' | 'output',
  where: string,
): CompiledSchema {
  const compiled = compileJsonSchema(writeJsonSchema(schema, direction, where), direction, where);
  return {
    ...compiled,
    validate: (value) => {
      const first = compiled.validate(value);
      return first.ok ? judge(schema, first) : first;
    },
  };
}

function writeJsonSchema(schema: StandardSchema, direction: 'input' | 'output', where: string): object {
  try {
    const { $schema: _dialect, ...rest } = schema['~standard'].jsonSchema[direction]({ target: 'draft-2020-12' });
    return rest;
  } catch (error) {
    throw new ToolscriptUsageError('SCHEMA_WITHOUT_JSON_FORM', { where, problem: thrownText(error) });
  }
}

function judge(schema: StandardSchema, sent: Extract<ValidationResult, { ok: true }>): ValidationResult {
  try {
    const judged = validate(schema, sent.value);
    if (!judged.ok) return judged;
    const text = JSON.stringify(judged.value);
    if (text === JSON.stringify(sent.value)) return sent;
    const again = validate(schema, judged.value);
    if (again.ok && JSON.stringify(again.value) === text) return judged;
    return refusedValidation(
      'the schema of this tool transforms its values, which tools do not support; transform them in execute',
    );
  } catch (error) {
    if (error instanceof NotJsonError)
      return refusedValidation('the schema of this tool makes values that JSON cannot represent; make them in execute');
    return refusedValidation(
      `the schema of this tool threw an error, which the author of the tool must correct: ${thrownText(error)}`,
    );
  }
}

function validate(schema: StandardSchema, value: unknown): ValidationResult {
  // The library gets a copy of the value, because the library may change its argument.
  const result = schema['~standard'].validate(structuredClone(value));
  if (result instanceof Promise) {
    // Ignores the rejection, because no other code awaits this promise.
    result.catch(() => {});
    return refusedValidation(
      'the schema of this tool is asynchronous, which tools do not support; move its asynchronous checks into execute',
    );
  }
  if (result.issues !== undefined) return { ok: false, issues: result.issues.map(standardIssue) };
  return { ok: true, value: copyJson(result.value) };
}

function standardIssue({ message, path = [] }: StandardIssue): ValidationIssue {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
  const shown: ValuePath = keys.map((key) => (typeof key === 'symbol' ? String(key) : key));
  return plainIssue(shown, message);
}

function refusedValidation(message: string): ValidationResult {
  return { ok: false, issues: [plainIssue([], message)] };
}

function thrownText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
