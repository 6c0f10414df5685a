import { parseJson } from '../tools/index.js';

/**
 * Parses the guest's arguments of a call to `sleep`, `catalog` or `tools.spawn`. Throws a `TypeError` unless they are
 * a record.
 */
export function readArguments(argsJson: string): Readonly<Record<string, unknown>> {
  const parsed = parseJson(argsJson);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value))
    throw new TypeError('the arguments are not an object');
  return parsed.value as Readonly<Record<string, unknown>>;
}

export function textArgument(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('the argument is not a string');
  return value;
}
