import { Validator, type Schema } from '@cfworker/json-schema';
import { ToolscriptUsageError } from '../protocol/errors.js';
import type { JsonObject, JsonValue } from '../protocol/json.js';
import type { Validated, ValidationIssue } from '../protocol/tools.js';
import { applyDefaults } from './json-schema-defaults.js';
import { explainSchemaErrors } from './json-schema-issues.js';
import { readJsonSchema } from './json-schema-reading.js';
import { copyJson, NotJsonError } from './json-text.js';
import { expand, isRecord, knownKeysAt } from './schema-reference.js';
import { plainIssue, unknownKey } from './validation-issues.js';
import type { CompiledSchema } from './zod-schema.js';

/**
 * How many schemas one validation may use, patterns and long lists of choices counting more. A use takes one to two
 * microseconds, so that all of them stay below the time for which the event loop may be held. It grows with the data
 * where there is more than arguments hold by default.
 */
const LEAST_BUDGET = 25_000;
const BUDGET_PER_VALUE = 1;
/** What collecting every issue may use; where that is not enough the first one is told. */
const BUDGET_OF_ISSUES = 3_000;
/** Unknown keys that are put into words; a reader is shown a few of them. */
const MAX_ISSUES = 50;

/**
 * A JSON Schema from outside as a validator. Nothing of it is executed and nothing is fetched.
 *
 * Input: the schema must describe an object; unknown keys at its top level are errors unless
 * `additionalProperties` says otherwise; defaults are applied. Output: as the schema says.
 * Throws a `ToolscriptUsageError` that begins with `where` for a schema that cannot be used.
 */
export function compileJsonSchema(schema: unknown, direction: 'input' | 'output', where: string): CompiledSchema {
  if (!isRecord(schema)) throw new ToolscriptUsageError(`${where} must be a JSON Schema object.`);
  const jsonSchema = plainCopy(schema, where);
  if (direction === 'input') assertDescribesObject(jsonSchema, where);
  const checker = new SchemaChecker(jsonSchema, where);
  const validate = direction === 'input' ? checker.checkInput : checker.checkOutput;
  return {
    jsonSchema: direction === 'input' ? { type: 'object', ...jsonSchema } : jsonSchema,
    validate,
    notes: checker.notes,
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
  /** Undefined where the top level is open. */
  readonly #topLevelKeys: ReadonlySet<string> | undefined;
  #budget = 0;

  constructor(jsonSchema: JsonObject, where: string) {
    const spend = (cost: number): void => {
      this.#budget -= cost;
      // defence: schema-work-has-a-budget
      if (this.#budget < 0) throw new BudgetExceeded();
    };
    const { schema, notes } = readJsonSchema(jsonSchema, where, spend);
    this.notes = notes;
    this.#jsonSchema = jsonSchema;
    this.#readSchema = schema as Schema;
    this.#first = new Validator(this.#readSchema, '2020-12', true);
    this.#complete = new Validator(this.#readSchema, '2020-12', false);
    this.#topLevelKeys = closedTopLevelKeys(jsonSchema);
  }

  readonly checkInput = (input: unknown): Validated =>
    this.#guarded(input === undefined ? {} : input, (value) => {
      if (!isRecord(value)) return [plainIssue([], 'expected one object of named arguments')];
      if (!applyDefaults(this.#jsonSchema, value)) throw new BudgetExceeded();
      return [...this.#unknownTopLevelKeys(value), ...this.#check(value)];
    });

  readonly checkOutput = (output: unknown): Validated => this.#guarded(output, (value) => this.#check(value));

  #guarded(value: unknown, check: (copy: JsonValue) => ValidationIssue[]): Validated {
    try {
      const copy = copyJson(value);
      this.#budget = Math.max(LEAST_BUDGET, BUDGET_PER_VALUE * countValues(copy));
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

  /** Undefined where collecting every error is too much; the first one is known then. */
  #allErrors(value: JsonValue) {
    this.#budget = BUDGET_OF_ISSUES;
    try {
      return this.#complete.validate(value).errors;
    } catch {
      return undefined;
    }
  }

  #unknownTopLevelKeys(value: Record<string, unknown>): ValidationIssue[] {
    const known = this.#topLevelKeys;
    if (known === undefined) return [];
    const names = [...known];
    return Object.keys(value)
      .filter((key) => !known.has(key))
      .slice(0, MAX_ISSUES)
      .map((key) => unknownKey([], key, names));
  }
}

function countValues(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + countValues(member as JsonValue), 1);
}

const OPENING_KEYWORDS = ['additionalProperties', 'unevaluatedProperties', 'patternProperties'];

/** The keys of a top level that says nothing about others; undefined where some part of it says something. */
function closedTopLevelKeys(schema: JsonObject): ReadonlySet<string> | undefined {
  const parts = expand(schema, schema);
  const saysMore = parts.some((part) => OPENING_KEYWORDS.some((keyword) => part[keyword] !== undefined));
  return saysMore ? undefined : new Set(knownKeysAt(schema, []));
}
