// Values as text, for the console and for messages.
import { getOwnPropertyDescriptor, getPrototypeOf, isArray, keys, stringify, Symbol } from '../primordials.js';
import { URLSearchParams } from '../standard-library/url/search-params.js';
import { URL } from '../standard-library/url/url.js';
import {
  bufferLength,
  dateGetTime,
  dateToIso,
  indexOf,
  inheritsFrom,
  isArrayBuffer,
  isDate,
  isError,
  isFiniteNumber,
  isMap,
  isPromise,
  isRegExp,
  isSet,
  isTypedArray,
  join,
  mapForEach,
  mapSize,
  regExpToString,
  setForEach,
  setSize,
  slice,
  toText,
  typedArrayLength,
} from './captured.js';
import { titleOf } from './stacks.js';

const MAX_TEXT = 8192;
const MAX_DEPTH = 6;
const MAX_MEMBERS = 100;

/** A value that is being shown, and those that hold it. */
interface Chain {
  readonly value: object;
  readonly up: Chain | null;
}

const isUrl = inheritsFrom(URL);
const isUrlSearchParams = inheritsFrom(URLSearchParams);
const { toStringTag } = Symbol;

export function describeText(value: unknown): string {
  try {
    return isError(value) ? titleOf(value) : inspect(value, 0, null);
  } catch {
    return 'a value that cannot be shown';
  }
}

export const capText = (text: string): string =>
  text.length > MAX_TEXT ? slice(text, 0, MAX_TEXT) + '… [' + (text.length - MAX_TEXT) + ' more characters]' : text;

/** One value of a console line; see `console/console.ts`. */
export function show(value: unknown, depth: number): string {
  try {
    return inspect(value, depth, null);
  } catch {
    return '[a value that cannot be shown]';
  }
}

export function inspect(value: unknown, depth: number, ancestors: Chain | null): string {
  switch (typeof value) {
    case 'string':
      return depth === 0 ? value : stringify(value);
    case 'bigint':
      return value + 'n';
    case 'function':
      return '[Function ' + (toText(value.name) || 'anonymous') + ']';
    case 'object':
      return value === null ? 'null' : inspectObject(value, depth, ancestors);
    default:
      return toText(value);
  }
}

function inspectObject(value: object, depth: number, ancestors: Chain | null): string {
  for (let link = ancestors; link !== null; link = link.up) if (link.value === value) return '[Circular]';
  const chain = { value, up: ancestors };
  if (isError(value)) return depth === 0 ? inspectError(value, chain) : describeText(value);
  if (isDate(value)) return isFiniteNumber(dateGetTime(value)) ? dateToIso(value) : 'Invalid Date';
  if (isRegExp(value)) return regExpToString(value);
  if (isUrl(value)) return 'URL ' + stringify(toText(value));
  if (isUrlSearchParams(value)) return 'URLSearchParams ' + stringify(toText(value));
  if (isPromise(value)) return 'Promise { … }';
  if (depth > MAX_DEPTH) return isArray(value) ? '[…]' : '{…}';
  return inspectCollection(value, depth, chain);
}

function inspectCollection(value: object, depth: number, chain: Chain): string {
  if (isArray(value)) return inspectElements('[', value.length, value, depth, chain);
  if (isTypedArray(value)) {
    const length = typedArrayLength(value);
    const title = (value.constructor as { name?: unknown }).name + '(' + length + ') [';
    return inspectElements(title, length, value as ArrayLike<unknown>, depth, chain);
  }
  if (isArrayBuffer(value)) return 'ArrayBuffer(' + bufferLength(value) + ' bytes)';
  if (isMap(value))
    return inspectList('Map {', mapSize(value), '}', (add) =>
      mapForEach(value, (member, key) =>
        add(inspect(key, depth + 1, chain) + ' => ' + inspect(member, depth + 1, chain)),
      ),
    );
  if (isSet(value))
    return inspectList('Set {', setSize(value), '}', (add) =>
      setForEach(value, (member) => add(inspect(member, depth + 1, chain))),
    );
  const body = inspectMembers(value as Record<string, unknown>, depth, chain);
  const className = classNameOf(value);
  return className === '' || className === 'Object' ? body : className + ' ' + body;
}

function inspectMembers(value: Record<string, unknown>, depth: number, chain: Chain): string {
  const names = keys(value);
  const shown: string[] = [];
  for (let index = 0; index < names.length; index++) {
    if (index === MAX_MEMBERS) {
      shown[index] = '… ' + (names.length - MAX_MEMBERS) + ' more';
      break;
    }
    shown[index] = names[index] + ': ' + inspect(value[names[index]!], depth + 1, chain);
  }
  return shown.length === 0 ? '{}' : '{ ' + join(shown, ', ') + ' }';
}

function inspectList(open: string, count: number, close: string, visit: (add: (text: string) => void) => void): string {
  const shown: string[] = [];
  visit((text) => {
    if (shown.length < MAX_MEMBERS) shown[shown.length] = text;
  });
  if (count > MAX_MEMBERS) shown[shown.length] = '… ' + (count - MAX_MEMBERS) + ' more';
  return open + join(shown, ', ') + close;
}

function inspectElements(
  open: string,
  count: number,
  elements: ArrayLike<unknown>,
  depth: number,
  chain: Chain,
): string {
  return inspectList(open, count, ']', (add) => {
    for (let index = 0; index < count && index < MAX_MEMBERS; index++) add(inspect(elements[index], depth + 1, chain));
  });
}

/** With its stack, and the errors that it holds. */
function inspectError(error: Error, chain: Chain): string {
  let shown = titleOf(error);
  const stack: unknown = error.stack;
  // The title in the stack may be of the time when the error was made.
  const frames = typeof stack === 'string' ? indexOf(stack, '\n    at ') : -1;
  if (frames >= 0) shown += slice(stack as string, frames);
  if (getOwnPropertyDescriptor(error, 'cause') !== undefined) shown += '\n  [cause]: ' + inspect(error.cause, 1, chain);
  if (getOwnPropertyDescriptor(error, 'errors') !== undefined)
    shown += '\n  [errors]: ' + inspect((error as AggregateError).errors, 1, chain);
  return shown;
}

/** The name of a value's class; of a generator, which has none, its tag. */
function classNameOf(value: object): string {
  const prototype = getPrototypeOf(value) as { constructor?: unknown } | null;
  const constructor = prototype?.constructor;
  if (typeof constructor === 'function') return toText(constructor.name);
  const tag = (value as { [toStringTag]?: unknown })[toStringTag];
  return typeof tag === 'string' ? tag : '';
}
