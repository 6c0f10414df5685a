import { Validator, type Schema } from '@cfworker/json-schema';
import { ToolscriptUsageError } from '../protocol/errors.js';
import { type JsonObject, type JsonValue, isRecord } from '../protocol/json.js';
import type { Validated, ValidationIssue } from '../protocol/tools.js';
import { applyDefaults, effectiveSchema } from './json-schema-defaults.js';
import { explainSchemaErrors } from './json-schema-issues.js';
import { readJsonSchema } from './json-schema-reading.js';
import { copyJson, NotJsonError } from './json-text.js';
import { ValueSchemas, type DescribedObject } from './schema-lookup.js';
import { plainIssue, unknownKey } from './validation-issues.js';
import type { CompiledSchema } from './zod-schema.js';

/**
 * Maximum number of schema uses in one validation; patterns and long lists of choices count more. A use takes one to
 * two microseconds, so all uses together stay below the time for which the event loop may be blocked. For data larger
 * than the default maximum of arguments, the maximum grows with the data.
 */
const MIN_BUDGET = 25_000;
const BUDGET_PER_VALUE = 1;
/** Maximum cost of collecting every issue. If this cost does not suffice, only the first issue is reported. */
const BUDGET_OF_ISSUES = 3_000;
/**
 * Maximum number of schemas that are visited for the keys of all objects in the arguments; a visit takes about 0.1
 * microseconds.
 */
const MAX_KEY_STEPS = 200_000;
/** Maximum number of reported unknown keys, because a reader needs only a few. */
const MAX_ISSUES = 50;

/**
 * Makes a validator from an untrusted JSON Schema. No part of the schema is executed or fetched.
 *
 * Input: the schema must describe an object. If a level has `properties`, unknown keys there are errors unless the
 * schema allows them. Defaults that fit their own schemas are applied. Output: the schema applies unchanged. Throws a
 * `ToolscriptUsageError` whose message begins with `where` for an unusable schema.
 */
export function compileJsonSchema(schema: unknown, direction: 'input' | 'output', where: string): CompiledSchema {
  if (!isRecord(schema))
    throw new ToolscriptUsageError(`${where} must be a JSON Schema object, for example { "type": "object" }.`);
  return direction === 'input' ? compileInput(plainCopy(schema, where), where) : compileOutput(schema, where);
}

function compileOutput(schema: object, where: string): CompiledSchema {
  const jsonSchema = plainCopy(schema, where);
  const { checkOutput: validate, notes } = new SchemaChecker(jsonSchema, where);
  return { jsonSchema, validate, notes };
}

function compileInput(given: JsonObject, where: string): CompiledSchema {
  assertDescribesObject(given, where);
  const fits = (part: JsonObject, value: unknown) => new SchemaChecker(given, where, part).checkOutput(value).ok;
  const effective = effectiveSchema(given, fits);
  const checker = new SchemaChecker(effective.schema, where);
  return {
    jsonSchema: { type: 'object', ...effective.schema },
    validate: checker.checkInput,
    notes: [...checker.notes, ...effective.notes],
  };
}

function plainCopy(schema: object, where: string): JsonObject {
  try {
    return JSON.parse(JSON.stringify(copyJson(schema))) as JsonObject;
  } catch (error) {
    const reason =
      error instanceof NotJsonError ? `#/${error.path.join('/')} ${error.message}` : 'it is not plain data';
    throw new ToolscriptUsageError(`${where} is not a usable JSON Schema: ${reason}.`);
  }
}

function assertDescribesObject(schema: JsonObject, where: string): void {
  const type = schema['type'];
  const isObject = type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (!isObject) {
    throw new ToolscriptUsageError(
      `${where} must describe an object, because tools take one object of named arguments.`,
    );
  }
}

class BudgetExceeded extends Error {}

class SchemaChecker {
  readonly notes: readonly string[];
  readonly #jsonSchema: JsonObject;
  readonly #readSchema: Schema;
  readonly #first: Validator;
  readonly #complete: Validator;
  readonly #schemas: ValueSchemas;
  #budget = 0;

  constructor(jsonSchema: JsonObject, where: string, start = jsonSchema) {
    const spend = (cost: number): void => {
      this.#budget -= cost;
      // defence: schema-work-has-a-budget
      if (this.#budget < 0) throw new BudgetExceeded();
    };
    const { schema, notes } = readJsonSchema(jsonSchema, where, spend, start);
    this.notes = notes;
    this.#jsonSchema = jsonSchema;
    this.#readSchema = schema as Schema;
    this.#first = new Validator(this.#readSchema, '2020-12', true);
    this.#complete = new Validator(this.#readSchema, '2020-12', false);
    this.#schemas = new ValueSchemas(jsonSchema);
  }

  readonly checkInput = (input: unknown): Validated =>
    this.#guarded(input === undefined ? {} : input, (value) => {
      if (!isRecord(value)) return [plainIssue([], 'expected one object of named arguments')];
      if (!applyDefaults(this.#jsonSchema, value)) throw new BudgetExceeded();
      const unknown = this.#unknownKeys(value);
      return [...unknown, ...this.#check(value).filter((issue) => !unknown.some(({ path }) => path === issue.path))];
    });

  readonly checkOutput = (output: unknown): Validated => this.#guarded(output, (value) => this.#check(value));

  #guarded(value: unknown, check: (copy: JsonValue) => ValidationIssue[]): Validated {
    try {
      const copy = copyJson(value);
      this.#budget = Math.max(MIN_BUDGET, BUDGET_PER_VALUE * countValues(copy));
      const issues = check(copy);
      return issues.length === 0 ? { ok: true, value: copy } : { ok: false, issues };
    } catch (error) {
      if (error instanceof NotJsonError) return { ok: false, issues: [plainIssue(error.path, error.message)] };
      return {
        ok: false,
        issues: [
          plainIssue(
            [],
            'cannot be checked: the data, or the schema of this tool, is too complex; send less in one call',
          ),
        ],
      };
    }
  }

  #check(value: JsonValue): ValidationIssue[] {
    const verdict = this.#first.validate(value);
    if (verdict.valid) return [];
    const issues = explainSchemaErrors(this.#allErrors(value) ?? verdict.errors, this.#readSchema, value);
    return issues.length > 0 ? issues : [plainIssue([], 'does not fit the schema of this tool')];
  }

  /** Returns every error; undefined if collecting all errors is too expensive, and only the first one is known. */
  #allErrors(value: JsonValue) {
    this.#budget = BUDGET_OF_ISSUES;
    try {
      return this.#complete.validate(value).errors;
    } catch {
      return undefined;
    }
  }

  #unknownKeys(value: JsonValue): ValidationIssue[] {
    const issues: ValidationIssue[] = [];
    let steps = 0;
    const step = () => {
      // defence: unknown-keys-have-a-budget
      if (++steps > MAX_KEY_STEPS) throw new BudgetExceeded();
    };
    const look = (described: DescribedObject) => {
      const known = this.#schemas.closedKeys(described);
      if (known === undefined) return;
      for (const key of Object.keys(described.object))
        if (!known.has(key) && issues.length < MAX_ISSUES)
          issues.push(unknownKey(described.path, key, [...known], issues.length));
    };
    this.#schemas.visit(value, look, step);
    return issues;
  }
}

function countValues(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + countValues(member as JsonValue), 1);
}
