// Writes the values that leave the guest as JSON, and refuses those that JSON would lose.
import {
  create,
  freeze,
  getPrototypeOf,
  isArray,
  keys,
  max,
  Object,
  ownKeys,
  Promise,
  stringify,
  WeakMap,
} from '../primordials.js';
import { BufferData } from '../standard-library/buffer.js';
import { valueBytes, plainForm, type Bytes } from './json-forms.js';
import { isError, isTypedArray, slice, weakGet, weakSet } from './captured.js';
import { heldErrors } from './errors.js';
import { readText } from './stacks.js';

const MAX_DEPTH = 100;

/**
 * The path of the member that JSON cannot represent, and the reason. If a getter or the toJSON of a member threw an
 * error: the path of that member, and an empty reason. `writeJson` sets this variable before it throws, and its caller
 * reads it.
 */
let problem = { path: '', reason: '' };
export const NOT_CARRIED = freeze({ __proto__: null });

export function whyNotWritten(): Readonly<{ path: string; reason: string }> {
  return problem;
}

const pathTo = (path: string, inList: boolean, key: string): string =>
  inList ? path + '[' + key + ']' : path + '.' + key;

// The only table of the classes that JSON represents; guest.md shows the table, and a test compares the two.
const CARRIED_CLASSES: Readonly<Record<string, true | undefined>> = freeze({
  __proto__: null as never,
  Object: true,
  Array: true,
  // `errorAsData` makes the JSON form of errors.
  Error: true,
  Boolean: true,
  Number: true,
  String: true,
  // Date and URL have a toJSON.
  Date: true,
  URL: true,
});
const INSTEAD: Readonly<Record<string, string | undefined>> = freeze({
  __proto__: null as never,
  Map: 'use Object.fromEntries(map)',
  Set: 'use [...set]',
  WeakRef: 'use ref.deref()',
  Iterator: 'use [...iterator]',
  AsyncIterator: 'collect it with for await',
  RegExp: 'use String(pattern) or pattern.source',
  URLSearchParams: 'use String(params) or Object.fromEntries(params)',
  Headers: 'use Object.fromEntries(headers)',
  Buffer: 'for text use buffer.toString(), for base64 buffer.toString("base64"), for numbers [...buffer]',
  ArrayBuffer: 'for text use new TextDecoder().decode(buffer), for base64 new Uint8Array(buffer).toBase64()',
  Uint8Array: 'for text use new TextDecoder().decode(bytes), for base64 bytes.toBase64(), for numbers [...bytes]',
});

/** Reasons to refuse an object, by a prototype that it inherits from: JSON would write most such objects as {}. */
const refusals = new WeakMap<object, string>();

function refuseClass(name: string, prototype: object): void {
  const article = name[0] === 'A' || name[0] === 'I' ? 'an ' : 'a ';
  const instead = INSTEAD[name] ?? (isTypedArray(prototype) ? 'use [...numbers]' : undefined);
  weakSet(refusals, prototype, article + name + (instead === undefined ? '' : '; ' + instead));
}

/** Fills `refusals`. `makeGuest` calls this function once, after the standard library was installed. */
export function refuseClasses(holders: readonly object[]): void {
  for (const holder of holders) {
    for (const name of ownKeys(holder)) {
      if (typeof name !== 'string') continue;
      const prototype = (holder as Record<string, { prototype?: unknown } | undefined>)[name]?.prototype;
      if (typeof prototype !== 'object' || isError(prototype) || CARRIED_CLASSES[name] === true) continue;
      refuseClass(name, prototype as object);
    }
  }
  refuseClass('AsyncIterator', getPrototypeOf(getPrototypeOf(async function* () {}.prototype as object)!)!);
  // JSON asks a Buffer for its form before the bridge sees it.
  refuseClass('Buffer', BufferData.prototype);
  weakSet(refusals, Promise.prototype, 'a Promise that was not awaited');
}

function whyNotCarried(value: unknown): string | undefined {
  switch (typeof value) {
    case 'bigint':
      return 'a BigInt; convert it with Number() or String()';
    case 'symbol':
      return 'a Symbol';
    case 'function':
      return 'a function';
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null || isArray(value)) return undefined;
  let prototype = getPrototypeOf(value);
  while (prototype !== null && prototype !== Object.prototype) {
    const reason = weakGet(refusals, prototype);
    if (reason !== undefined) return reason;
    prototype = getPrototypeOf(prototype);
  }
  return undefined;
}

/**
 * An error as data: its name and message, the errors that it holds, and the members that the script has added.
 * `reading` is called with the name of each held error and of each added member before that member is read.
 */
function errorAsData(error: Error, reading: (name: string) => void): object {
  const data = create(null) as Record<string, unknown>;
  data.name = readText(error, 'name', 'Error');
  data.message = readText(error, 'message', '');
  const members = error as unknown as Record<string, unknown>;
  const read = (name: string): void => {
    reading(name);
    data[name] ??= members[name];
  };
  const held = heldErrors(error);
  for (let index = 0; index < held.length; index++) read(held[index]!);
  const added = keys(error);
  for (let index = 0; index < added.length; index++) read(added[index]!);
  return data;
}

/** Returns the replacement of a member. */
type Cut = (key: string, member: unknown) => unknown;

/** Returns the form of bytes at a place, or undefined to refuse them with this problem. */
type CarryBytes = (bytes: Bytes, keys: readonly string[], problem: string) => unknown;

/** Undefined members: such values are refused. */
interface Carriers {
  readonly carryBytes?: CarryBytes;
  /** Returns what stands for a value inside itself. `path`: the place of the value. */
  readonly carryCycle?: (path: string) => string;
}

const NO_CARRIERS = freeze(create(null) as Carriers);

/** The objects that are being written, from the root down. The lists may be longer than `depth`. */
class Descent {
  depth = 0;
  /** The value that is written for each object: the object itself, or its replacement. */
  readonly holders: object[] = [];
  /** The script's objects from which the holders were made. */
  readonly sources: object[] = [];
  /** The keys that led to the holders. */
  readonly heldBy: string[] = [];
  /** The key of the last member that was reached in each holder. */
  readonly reached: (string | undefined)[] = [];
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The path of a member of the innermost holder. */
  pathTo(key: string): string {
    if (this.depth === 0) return this.#root;
    return pathTo(this.levelPath(this.depth - 1), isArray(this.holders[this.depth - 1]), key);
  }

  /** The path of the next member to write, in the innermost holder that is not complete. */
  pathToNext(): string {
    for (let level = this.depth - 1; level >= 0; level--) {
      const holder = this.holders[level]!;
      const key = keyAfter(holder, this.reached[level]);
      if (key !== undefined) return pathTo(this.levelPath(level), isArray(holder), key);
    }
    return this.#root;
  }

  /** The keys that lead from the root to a member of the innermost holder. */
  keysTo(key: string): string[] {
    const keys: string[] = [];
    for (let index = 1; index < this.depth; index++) keys[index - 1] = this.heldBy[index]!;
    if (this.depth > 0) keys[this.depth - 1] = key;
    return keys;
  }

  levelPath(level: number): string {
    let path = this.#root;
    for (let index = 1; index <= level; index++)
      path = pathTo(path, isArray(this.holders[index - 1]), this.heldBy[index]!);
    return path;
  }
}

function keyAfter(holder: object, key: string | undefined): string | undefined {
  if (isArray(holder)) {
    const index = key === undefined ? 0 : +key + 1;
    return index < holder.length ? index + '' : undefined;
  }
  const names = keys(holder);
  let index = 0;
  if (key !== undefined) while (index < names.length && names[index++] !== key);
  return names[index];
}

/**
 * JSON text of a value; undefined for undefined. If JSON would lose or reject a part of the value, throws NOT_CARRIED,
 * and `whyNotWritten` returns the path of that part and the reason. If a getter or the toJSON of a member throws an
 * error, rethrows the error, and `whyNotWritten` returns the path of that member. Every getter and toJSON runs once,
 * and their results follow the same rules. `cut`: returns the replacement of a member. With carriers,
 * values of the language's own classes get the forms of `plainForm`, and bytes and cycles what the carriers return;
 * without, they are refused.
 */
export function writeJson(
  value: unknown,
  root: string,
  cut?: Cut,
  { carryBytes, carryCycle }: Carriers = NO_CARRIERS,
): string | undefined {
  const at = new Descent(root);
  const { holders, sources, heldBy, reached } = at;
  const refuse = (key: string, reason: string): never => {
    problem = { path: at.pathTo(key), reason };
    throw NOT_CARRIED;
  };
  const carried = (key: string, member: unknown, reason: string): unknown => {
    if (carryBytes === undefined) return undefined;
    const bytes = valueBytes(member);
    return bytes === undefined ? plainForm(member) : carryBytes(bytes, at.keysTo(key), at.pathTo(key) + ': ' + reason);
  };
  /** The path of the error's member that is being read; empty if none is. */
  let reading = '';
  const replace = function (this: unknown, key: string, member: unknown): unknown {
    while (at.depth > 0 && holders[at.depth - 1] !== this) at.depth--;
    const { depth } = at;
    if (depth > 0) reached[depth - 1] = key;
    const reason = whyNotCarried(member);
    let written = reason === undefined ? member : carried(key, member, reason);
    if (reason !== undefined && written === undefined) refuse(key, reason);
    if (typeof member !== 'object' || typeof written !== 'object' || written === null)
      return cut === undefined ? written : cut(key, written);
    for (let index = 0; index < depth; index++)
      if (sources[index] === member) return carryCycle?.(at.levelPath(index)) ?? refuse(key, 'a cycle');
    if (depth >= MAX_DEPTH) refuse(key, 'nested deeper than ' + MAX_DEPTH + ' levels');
    if (isError(member)) {
      written = errorAsData(member, (name) => (reading = pathTo(at.pathTo(key), false, name)));
      reading = '';
    }
    if (cut !== undefined) written = cut(key, written) as object;
    holders[depth] = written as object;
    sources[depth] = member as object;
    heldBy[depth] = key;
    reached[depth] = undefined;
    at.depth++;
    return written;
  };
  try {
    return stringify(value, replace) as string | undefined;
  } catch (error) {
    if (error !== NOT_CARRIED) problem = { path: reading === '' ? at.pathToNext() : reading, reason: '' };
    throw error;
  }
}

/** The minimum number of characters that a member takes in JSON text, without its name. */
const MIN_UNITS = 2;

/**
 * The JSON text of a value. A text longer than `units` is truncated and ends with `…`. `write` must call its argument
 * for every member, as `stringify` calls its replacer. The argument shortens large members, so the work is bounded too.
 */
export function startOfJson(units: number, write: (cut: Cut) => string | undefined): string | undefined {
  let room = units;
  let isCut = false;
  const json = write((key, member) => {
    room -= key.length + MIN_UNITS;
    const least = max(room, 0);
    if (typeof member === 'string') {
      room -= member.length;
      if (room >= 0) return member;
      isCut = true;
      return slice(member, 0, least);
    }
    if (typeof member !== 'object' || member === null) return member;
    const names = isArray(member) ? undefined : keys(member);
    const count = names === undefined ? (member as readonly unknown[]).length : names.length;
    if (count * MIN_UNITS <= least) return member;
    isCut = true;
    return firstMembers(member, names, least / MIN_UNITS);
  });
  return json !== undefined && (isCut || json.length > units) ? slice(json, 0, units) + '…' : json;
}

function firstMembers(holder: object, names: readonly string[] | undefined, count: number): object {
  const members = holder as Record<string | number, unknown>;
  if (names === undefined) {
    const list: unknown[] = [];
    for (let index = 0; index < count; index++) list[index] = members[index];
    return list;
  }
  const record = create(null) as Record<string, unknown>;
  for (let index = 0; index < count; index++) record[names[index]!] = members[names[index]!];
  return record;
}

/** Freezes a tree that was read from JSON text. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  const names = isArray(value) ? undefined : keys(value);
  const members = value as unknown as Record<string | number, unknown>;
  const count = names === undefined ? (value as unknown as readonly unknown[]).length : names.length;
  for (let index = 0; index < count; index++) deepFreeze(members[names === undefined ? index : names[index]!]);
  return freeze(value);
}
