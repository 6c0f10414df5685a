// Writes the values that cross as JSON, and refuses those that JSON would lose.
import {
  create,
  freeze,
  getPrototypeOf,
  isArray,
  keys,
  Object,
  ownKeys,
  Promise,
  stringify,
  WeakMap,
} from '../primordials.js';
import { isError, isTypedArray, toText, weakGet, weakSet } from './captured.js';
import { heldErrors } from './errors.js';

const MAX_DEPTH = 100;

/** Why JSON cannot carry a value. Set when NOT_CARRIED is thrown, and read where that is caught. */
let problem = { path: '', reason: '' };
export const NOT_CARRIED = freeze({ __proto__: null });

export function whyNotWritten(): Readonly<{ path: string; reason: string }> {
  return problem;
}

const pathTo = (path: string, inList: boolean, key: string): string =>
  inList ? path + '[' + key + ']' : path + '.' + key;

// The only table of classes that are not plain data; guest.md shows it, and a test compares the two.
const CARRIED_CLASSES: Readonly<Record<string, true | undefined>> = freeze({
  __proto__: null as never,
  Object: true,
  Array: true,
  // Written as its name and message.
  Error: true,
  Boolean: true,
  Number: true,
  String: true,
  // These two have a toJSON.
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
  ArrayBuffer: 'for text use new TextDecoder().decode(buffer), for base64 new Uint8Array(buffer).toBase64()',
  Uint8Array: 'for text use new TextDecoder().decode(bytes), for base64 bytes.toBase64(), for numbers [...bytes]',
});

/** Reasons to refuse an object, by a prototype that it inherits from: JSON would write most of them as {}. */
const refusals = new WeakMap<object, string>();

function refuseClass(name: string, prototype: object): void {
  const article = name[0] === 'A' || name[0] === 'I' ? 'an ' : 'a ';
  const instead = INSTEAD[name] ?? (isTypedArray(prototype) ? 'use [...numbers]' : undefined);
  weakSet(refusals, prototype, article + name + (instead === undefined ? '' : '; ' + instead));
}

/** Called once, when all classes of the realm exist. */
export function refuseClassesOf(holders: readonly object[]): void {
  for (const holder of holders) {
    for (const name of ownKeys(holder)) {
      if (typeof name !== 'string') continue;
      const prototype = (holder as Record<string, { prototype?: unknown } | undefined>)[name]?.prototype;
      if (typeof prototype !== 'object' || isError(prototype) || CARRIED_CLASSES[name] === true) continue;
      refuseClass(name, prototype as object);
    }
  }
  refuseClass('AsyncIterator', getPrototypeOf(getPrototypeOf(async function* () {}.prototype as object)!)!);
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

/** An error as data: its name and message, the errors that it holds, and the members that the script has added. */
function errorAsData(error: Error): object {
  const data = create(null) as Record<string, unknown>;
  const { name = 'Error', message = '' } = error as Partial<Error>;
  data.name = toText(name);
  data.message = toText(message);
  const members = error as unknown as Record<string, unknown>;
  const held = heldErrors(error);
  for (let index = 0; index < held.length; index++) data[held[index]!] = members[held[index]!];
  const added = keys(error);
  for (let index = 0; index < added.length; index++) data[added[index]!] ??= members[added[index]!];
  return data;
}

/**
 * JSON text of a value, or undefined for undefined. Throws NOT_CARRIED, with its reason set, where JSON would lose or
 * refuse something. Every getter and toJSON runs once, and their results follow the same rules.
 */
export function writeJson(value: unknown, root: string): string | undefined {
  // The objects from the root down to the one whose members are being written, the script's objects that they were made
  // of, and the keys that led there.
  const holders: object[] = [];
  const sources: object[] = [];
  const heldBy: string[] = [];
  let depth = 0;
  const refuse = (key: string, reason: string): never => {
    let path = root;
    for (let index = 1; index < depth; index++) path = pathTo(path, isArray(holders[index - 1]), heldBy[index]!);
    if (depth > 0) path = pathTo(path, isArray(holders[depth - 1]), key);
    problem = { path, reason };
    throw NOT_CARRIED;
  };
  return stringify(value, function (this: unknown, key: string, member: unknown) {
    while (depth > 0 && holders[depth - 1] !== this) depth--;
    const reason = whyNotCarried(member);
    if (reason !== undefined) refuse(key, reason);
    if (typeof member !== 'object' || member === null) return member;
    for (let index = 0; index < depth; index++) if (sources[index] === member) refuse(key, 'a cycle');
    if (depth >= MAX_DEPTH) refuse(key, 'nested deeper than ' + MAX_DEPTH + ' levels');
    const written = isError(member) ? errorAsData(member) : member;
    holders[depth] = written;
    sources[depth] = member;
    heldBy[depth] = key;
    depth++;
    return written;
  }) as string | undefined;
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
