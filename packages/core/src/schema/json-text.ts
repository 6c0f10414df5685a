import { MAX_JSON_DEPTH, measureJson, type JsonValue } from '../protocol/json.js';

export type ParsedJson = { ok: true; value: JsonValue } | { ok: false; reason: string };

/**
 * Parses untrusted JSON text. Its depth, and its number of values and member names, are checked before the parser reads
 * the text. `maxValues`: no limit by default. Never throws.
 */
export function parseJson(text: string, maxValues = Infinity): ParsedJson {
  const { depth, values } = measureJson(text, MAX_JSON_DEPTH);
  // defence: argument-depth-is-capped
  if (depth > MAX_JSON_DEPTH) return { ok: false, reason: `they are nested deeper than ${MAX_JSON_DEPTH} levels` };
  // defence: argument-values-are-capped
  if (values > maxValues) {
    const reason = `they hold ${values} values and names of members, and ${maxValues} are allowed; send fewer in one call`;
    return { ok: false, reason };
  }
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return { ok: false, reason: 'they are not valid JSON' };
  }
  // defence: no-prototype-members
  if (namesPrototype(text, value)) return { ok: false, reason: `they have a ${PROTOTYPE_MEMBER}` };
  return { ok: true, value };
}

/** A member that a deep merge, as many programs have one, would write into the prototype of all objects. */
export const PROTOTYPE_MEMBER = "member named '__proto__', which is not data; give it another name";

/** Whether JSON has a member `__proto__`. `value`: the parsed text, if the caller has parsed it. */
export function namesPrototype(text: string, value?: unknown): boolean {
  // The name may be written with escapes.
  if (!text.includes('__proto__') && !text.includes(String.raw`\u`)) return false;
  return hasPrototypeMember(value === undefined ? JSON.parse(text) : value);
}

function hasPrototypeMember(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeMember);
}

/** The error of `copyJson`, with the path of the value that is not JSON. */
export class NotJsonError extends Error {
  readonly path: readonly (string | number)[];

  constructor(path: readonly (string | number)[], reason: string) {
    super(reason);
    this.path = path;
  }
}

/** A record that inherits nothing. V8 treats objects without a prototype as hash tables, at five times the cost. */
const BareRecord = function BareRecord() {} as unknown as new () => Record<string, JsonValue>;
BareRecord.prototype = Object.freeze(Object.create(null));

/**
 * Returns a deep copy of plain data whose records inherit nothing, so that `constructor` or `__proto__` are ordinary
 * keys. Members that are `undefined` are dropped. Throws a `NotJsonError` for a value that JSON cannot represent
 * unchanged, or that is nested deeper than `MAX_JSON_DEPTH`.
 */
export function copyJson(value: unknown, renameKey: (key: string) => string = (key) => key): JsonValue {
  return copyAt(value, [], renameKey);
}

function copyAt(value: unknown, path: (string | number)[], renameKey: (key: string) => string): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new NotJsonError([...path], `expected a finite number, received ${value}`);
    return value;
  }
  if (typeof value !== 'object') {
    throw new NotJsonError([...path], `expected plain JSON data, received ${typeof value}`);
  }
  // defence: copied-depth-is-capped
  if (path.length >= MAX_JSON_DEPTH) {
    throw new NotJsonError(path.slice(0, 3), `is nested deeper than ${MAX_JSON_DEPTH} levels`);
  }
  return Array.isArray(value) ? copyArray(value, path, renameKey) : copyRecord(value, path, renameKey);
}

function copyArray(
  value: readonly unknown[],
  path: (string | number)[],
  renameKey: (key: string) => string,
): JsonValue {
  const copy: JsonValue[] = [];
  for (let index = 0; index < value.length; index++) {
    path.push(index);
    copy.push(value[index] === undefined ? null : copyAt(value[index], path, renameKey));
    path.pop();
  }
  return copy;
}

function copyRecord(value: object, path: (string | number)[], renameKey: (key: string) => string): JsonValue {
  const prototype: unknown = Object.getPrototypeOf(value);
  // defence: only-plain-records
  if (prototype !== null && prototype !== Object.prototype && prototype !== BareRecord.prototype) {
    throw new NotJsonError([...path], `expected plain JSON data, received ${className(value)}`);
  }
  // defence: records-inherit-nothing
  const copy = new BareRecord();
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    path.push(key);
    copy[renameKey(key)] = copyAt(member, path, renameKey);
    path.pop();
  }
  return copy;
}

function className(value: object): string {
  const constructor: unknown = (value as { constructor?: unknown }).constructor;
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'an object of a class';
}
