import { isRecord, type JsonObject, type JsonValue } from '../protocol/json.js';
import type { Validated } from '../protocol/tools.js';
import { formatPath } from '../text/value-path.js';
import { copyJson } from './json-text.js';
import { childSchema, expand } from './schema-reference.js';
import { requiredKeys } from './schema-types.js';
import { mayBeNull, ValueSchemas, type DescribedObject } from './value-schemas.js';

/**
 * A validator that treats null as absence of a member that may be omitted and must not be null. Only arguments that
 * are otherwise invalid are validated a second time.
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

/** Null if the value is not JSON. */
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

/** Paths of the members that were deleted. */
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
