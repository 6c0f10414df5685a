import { ToolscriptUsageError } from '../protocol/errors.js';
import { isRecord, type JsonObject, type JsonValue } from '../protocol/json.js';
import type { Validated, ValidationIssue } from '../protocol/tools.js';
import { formatPath } from '../text/value-path.js';
import { copyJson } from './json-text.js';
import { childSchema, expand, knownKeysAt, mayBeNull, ValueSchemas, type DescribedObject } from './schema-lookup.js';
import { requiredKeys } from './schema-types.js';
import { plainIssue } from './validation-issues.js';

/** Former argument names, each mapped to its current name. */
export type OldNames = Readonly<Record<string, string>>;

/**
 * Checks former argument names. `tool`: the tool's name in messages. Throws a `ToolscriptUsageError` for invalid names.
 */
export function readOldNames(oldNames: unknown, tool: string, inputSchema: JsonObject): OldNames | undefined {
  if (oldNames === undefined) return undefined;
  if (!isRecord(oldNames) || Object.values(oldNames).some((name) => typeof name !== 'string'))
    throw new ToolscriptUsageError(`"oldNames" of ${tool} must be an object of names.`);
  const names = knownKeysAt(inputSchema, []);
  for (const [old, name] of Object.entries(oldNames as OldNames)) {
    if (names.includes(old))
      throw new ToolscriptUsageError(
        `"oldNames" of ${tool} has "${old}", which is the current name of an argument; remove it from "oldNames" or rename the argument.`,
      );
    if (!names.includes(name))
      throw new ToolscriptUsageError(
        `"oldNames" of ${tool} gives "${old}" the name "${name}", which no argument has; the arguments are ${names.join(', ')}.`,
      );
  }
  return Object.freeze({ ...(oldNames as OldNames) });
}

/** Arguments with their current names. `issues`: arguments that are given under two names. */
interface RenamedArguments {
  readonly value: unknown;
  readonly issues: readonly ValidationIssue[];
}

export function withNewNames(value: unknown, oldNames: OldNames | undefined): RenamedArguments {
  if (oldNames === undefined || !isRecord(value)) return { value, issues: [] };
  const issues: ValidationIssue[] = [];
  const given = new Set(Object.keys(value));
  const members = Object.entries(value).map(([key, member]): [string, unknown] => {
    const name = Object.hasOwn(oldNames, key) ? oldNames[key]! : key;
    if (name === key) return [key, member];
    if (given.has(name))
      issues.push(plainIssue([key], `is an old name of ${name}, which is given too; give ${name} alone`));
    given.add(name);
    return [name, member];
  });
  return { value: Object.fromEntries(members), issues };
}

/**
 * Returns a validator that treats null as the absence of a member that may be omitted and must not be null. Arguments
 * are validated a second time, without these members, only if the first validation fails.
 */
export function nullsAsAbsent(
  jsonSchema: JsonObject,
  validate: (value: unknown) => Validated,
): (value: unknown) => Validated {
  let schemas: ValueSchemas | undefined;
  return (value) => {
    const verdict = validate(value);
    const copy = verdict.ok ? null : copyOf(value);
    if (verdict.ok || copy === null || !holdsNull(copy)) return verdict;
    const absent = withoutAbsent(jsonSchema, (schemas ??= new ValueSchemas(jsonSchema)), copy);
    if (absent.length === 0) return verdict;
    const again = validate(copy);
    return again.ok ? { ...again, absent } : again;
  };
}

/** Returns a copy of the value; null if the value is not JSON. */
function copyOf(value: unknown): JsonValue {
  try {
    return copyJson(value);
  } catch {
    return null;
  }
}

function holdsNull(value: JsonValue): boolean {
  if (value === null || typeof value !== 'object') return value === null;
  return Object.values(value).some((member) => holdsNull(member as JsonValue));
}

/** Deletes members that count as absent. Returns their paths. */
function withoutAbsent(root: JsonObject, schemas: ValueSchemas, value: JsonValue): string[] {
  const absent: string[] = [];
  schemas.visit(value, (described) => {
    for (const [key, member] of Object.entries(described.object)) {
      if (member !== null || !isAbsent(root, key, described)) continue;
      delete described.object[key];
      absent.push(formatPath([...described.path, key]));
    }
  });
  return absent;
}

function isAbsent(root: JsonObject, key: string, { parts }: DescribedObject): boolean {
  if (parts.some((part) => requiredKeys(part).includes(key))) return false;
  const members = parts
    .filter(({ properties }) => isRecord(properties) && Object.hasOwn(properties, key))
    .map((part) => childSchema(part, key));
  return members.length > 0 && members.every((member) => member !== undefined && !mayBeNull(expand(root, member)));
}
