import { ToolscriptUsageError } from '../protocol/errors.js';
import { type JsonObject, type JsonValue, isRecord } from '../protocol/json.js';
import type { ValidationResult, ValidationIssue } from '../protocol/tools.js';
import { applyDefaults, settleDefaults } from './defaults.js';
import { explainFailures } from './explain-failures.js';
import { copyJson, NotJsonError } from './json-text.js';
import { closedKeys, visitObjects } from './object-keys.js';
import { readUntrustedSchema } from './read-schema.js';
import type { Schema } from './tree.js';
import { BudgetExceeded, validate } from './validate.js';
import { plainIssue, unknownKey } from './validation-issues.js';
import type { CompiledSchema } from './zod-schema.js';

/**
 * Maximum cost of one validation. A unit takes at most one or two microseconds, so all units together stay below the
 * time for which the event loop may be blocked. For data larger than the default maximum of arguments, the maximum grows
 * with the data.
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
 * `ToolscriptUsageError` whose message begins with `where` for an unusable schema. `skipsFlaws`: a keyword with a wrong
 * value is not checked, and is named in a note.
 */
export function compileJsonSchema(
  schema: unknown,
  direction: 'input' | 'output',
  where: string,
  skipsFlaws = false,
): CompiledSchema {
  if (!isRecord(schema)) throw new ToolscriptUsageError('JSON_SCHEMA_NOT_AN_OBJECT', { where });
  const copy = plainCopy(schema, where);
  return direction === 'input' ? compileInput(copy, where, skipsFlaws) : compileOutput(copy, where, skipsFlaws);
}

function compileOutput(jsonSchema: JsonObject, where: string, skipsFlaws: boolean): CompiledSchema {
  const { root, notes } = readUntrustedSchema(jsonSchema, where, skipsFlaws);
  const validateOutput = (value: unknown) => judge(value, (copy, budget) => valueIssues(root, copy, budget));
  return { jsonSchema, validate: validateOutput, notes: [...notes] };
}

function compileInput(given: JsonObject, where: string, skipsFlaws: boolean): CompiledSchema {
  assertDescribesObject(given, where);
  const jsonSchema = { type: 'object', ...given };
  const tree = readUntrustedSchema(jsonSchema, where, skipsFlaws);
  const removed = settleDefaults(tree, accepts);
  const validateInput = (input: unknown) =>
    judge(input === undefined ? {} : input, (value, budget) => {
      if (!isRecord(value)) return [plainIssue([], 'expected one object of named arguments')];
      if (!applyDefaults(tree.root, value)) throw new BudgetExceeded();
      const unknown = unknownKeys(tree.root, value);
      const issues = valueIssues(tree.root, value, budget);
      return [...unknown, ...issues.filter((issue) => !unknown.some(({ path }) => path === issue.path))];
    });
  return { jsonSchema, validate: validateInput, notes: [...tree.notes, ...removed] };
}

function plainCopy(schema: object, where: string): JsonObject {
  try {
    return JSON.parse(JSON.stringify(copyJson(schema))) as JsonObject;
  } catch (error) {
    const reason =
      error instanceof NotJsonError ? `#/${error.path.join('/')} ${error.message}` : 'it is not plain data';
    throw new ToolscriptUsageError('JSON_SCHEMA_UNUSABLE', { where, place: '', reason });
  }
}

function assertDescribesObject({ type }: JsonObject, where: string): void {
  if (type === undefined || [type].flat().includes('object')) return;
  throw new ToolscriptUsageError('TOOL_INPUT_NOT_AN_OBJECT', { where, kind: 'an object' });
}

/** Judges a copy of a value, within a budget. */
function judge(value: unknown, findIssues: (copy: JsonValue, budget: number) => ValidationIssue[]): ValidationResult {
  try {
    const copy = copyJson(value);
    const issues = findIssues(copy, Math.max(MIN_BUDGET, BUDGET_PER_VALUE * countValues(copy)));
    return issues.length === 0 ? { ok: true, value: copy } : { ok: false, issues };
  } catch (error) {
    if (error instanceof NotJsonError) return { ok: false, issues: [plainIssue(error.path, error.message)] };
    const message = 'cannot be checked: the data, or the schema of this tool, is too complex; send less in one call';
    return { ok: false, issues: [plainIssue([], message)] };
  }
}

function valueIssues(root: Schema, value: JsonValue, budget: number): ValidationIssue[] {
  const first = validate(root, value, budget, false);
  if (first.length === 0) return [];
  const issues = explainFailures(allFailures(root, value) ?? first);
  return issues.length > 0 ? issues : [plainIssue([], 'does not fit the schema of this tool')];
}

function allFailures(root: Schema, value: JsonValue) {
  try {
    return validate(root, value, BUDGET_OF_ISSUES, true);
  } catch {
    return undefined;
  }
}

function accepts(schema: Schema, value: JsonValue): boolean {
  try {
    return validate(schema, value, MIN_BUDGET, false).length === 0;
  } catch {
    return false;
  }
}

function unknownKeys(root: Schema, value: JsonValue): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  let steps = 0;
  const countStep = () => {
    // defence: unknown-keys-have-a-budget
    if (++steps > MAX_KEY_STEPS) throw new BudgetExceeded();
  };
  const collect = (described: Parameters<typeof closedKeys>[0]) => {
    const known = closedKeys(described);
    if (known === undefined) return;
    for (const key of Object.keys(described.object))
      if (!known.has(key) && issues.length < MAX_ISSUES)
        issues.push(unknownKey(described.path, key, [...known], issues.length));
  };
  visitObjects(root, value, collect, countStep);
  return issues;
}

function countValues(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + countValues(member as JsonValue), 1);
}
