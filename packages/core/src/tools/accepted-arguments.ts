import { ToolscriptUsageError } from '../protocol/errors.js';
import { isRecord, type JsonObject, type JsonValue } from '../protocol/json.js';
import type { ValidationResult, ValidationIssue } from '../protocol/tools.js';
import { formatPath } from '../text/value-path.js';
import { copyJson } from '../schema/json-text.js';
import { knownKeys, mayBeNull, visitObjects, type DescribedObject } from '../schema/object-keys.js';
import { schemaTree } from '../schema/read-schema.js';
import { innerSchema, possibleSchemas } from '../schema/tree.js';
import { plainIssue } from '../schema/validation-issues.js';

/** Other names of arguments, each mapped to the argument's name. */
export type ArgumentAliases = Readonly<Record<string, string>>;

/** Checks aliases. `tool`: the tool's name in messages. Throws a `ToolscriptUsageError` for invalid aliases. */
export function readAliases(aliases: unknown, tool: string, inputSchema: JsonObject): ArgumentAliases | undefined {
  if (aliases === undefined) return undefined;
  if (!isRecord(aliases) || Object.values(aliases).some((name) => typeof name !== 'string'))
    throw new ToolscriptUsageError('TOOL_MEMBER_INVALID', {
      member: `"aliases" of ${tool}`,
      expected: 'an object of names',
    });
  const names = knownKeys(schemaTree(inputSchema).root);
  for (const [alias, name] of Object.entries(aliases as ArgumentAliases)) {
    if (names.includes(alias)) throw new ToolscriptUsageError('ALIAS_IS_ARGUMENT', { tool, alias });
    if (!names.includes(name))
      throw new ToolscriptUsageError('ALIAS_OF_NOTHING', { tool, alias, name, names: names.join(', ') });
  }
  return Object.freeze({ ...(aliases as ArgumentAliases) });
}

/** Arguments without aliases. `issues`: arguments that are given under two names. */
interface RenamedArguments {
  readonly value: unknown;
  readonly issues: readonly ValidationIssue[];
}

export function withoutAliases(value: unknown, aliases: ArgumentAliases | undefined): RenamedArguments {
  if (aliases === undefined || !isRecord(value)) return { value, issues: [] };
  const issues: ValidationIssue[] = [];
  const given = new Set(Object.keys(value));
  const members = Object.entries(value).map(([key, member]): [string, unknown] => {
    const name = Object.hasOwn(aliases, key) ? aliases[key]! : key;
    if (name === key) return [key, member];
    if (given.has(name))
      issues.push(plainIssue([key], `is an alias of ${name}, which is given too; give ${name} alone`));
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
  validate: (value: unknown) => ValidationResult,
): (value: unknown) => ValidationResult {
  return (value) => {
    const verdict = validate(value);
    const copy = verdict.ok ? null : jsonCopy(value);
    if (verdict.ok || copy === null || !holdsNull(copy)) return verdict;
    const absent = withoutAbsent(jsonSchema, copy);
    const again = validate(copy);
    return again.ok ? { ...again, absent } : again;
  };
}

/** Returns a copy of the value; null if the value is not JSON. */
function jsonCopy(value: unknown): JsonValue {
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
function withoutAbsent(jsonSchema: JsonObject, value: JsonValue): string[] {
  const absent: string[] = [];
  visitObjects(schemaTree(jsonSchema).root, value, (described) => {
    for (const [key, member] of Object.entries(described.object)) {
      if (member !== null || !isAbsent(key, described)) continue;
      delete described.object[key];
      absent.push(formatPath([...described.path, key]));
    }
  });
  return absent;
}

function isAbsent(key: string, { schemas }: DescribedObject): boolean {
  if (schemas.some(({ required }) => required.includes(key))) return false;
  const members = schemas.filter(({ properties }) => properties?.has(key)).map((schema) => innerSchema(schema, key)!);
  return members.length > 0 && members.every((member) => !mayBeNull(possibleSchemas(member)));
}
