// Values as text, for the console and for messages.
import { getOwnPropertyDescriptor, getPrototypeOf, isArray, keys, max, stringify, Symbol } from '../primordials.js';
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
  mapEntries,
  mapSize,
  regExpToString,
  setSize,
  setValues,
  slice,
  toText,
  typedArrayLength,
} from './captured.js';
import { heldErrors } from './errors.js';
import { startOfJson } from './json.js';
import { NOT_SHOWN, readText, scriptStack, errorTitle } from './stacks.js';

const MAX_TEXT = 8192;
const MAX_DEPTH = 6;
const MAX_MEMBERS = 100;
/** The minimum number of characters that a value counts as. It also limits the number of values that are read. */
const MIN_UNITS = 2;

/** A value that is being shown, and the chain of values that hold it. */
interface Chain {
  readonly value: object;
  readonly up: Chain | null;
}

const isUrl = inheritsFrom(URL);
const isUrlSearchParams = inheritsFrom(URLSearchParams);
const { toStringTag } = Symbol;

/**
 * The number of characters that the values of a text may still take. At 0, the bridge counts members but does not read
 * them.
 */
let room = 0;
const hasRoom = (): boolean => room > 0;

/** Creates a text whose values together take a bounded number of characters, and so a bounded amount of work. */
export function withinRoom(units: number, makeText: () => string): string {
  const outerRoom = room;
  room = units;
  try {
    return makeText();
  } finally {
    room = outerRoom;
  }
}

/** Makes a line. `makeText` shows the line's values with `show`. */
export const makeLine = (makeText: () => string): string => capText(withinRoom(MAX_TEXT, makeText));

export function describeText(value: unknown): string {
  try {
    return isError(value) ? errorTitle(value) : withinRoom(MAX_TEXT, () => inspect(value, 0, null));
  } catch {
    return 'a value that cannot be shown';
  }
}

export const capText = (text: string): string =>
  text.length > MAX_TEXT ? slice(text, 0, MAX_TEXT) + '… [' + (text.length - MAX_TEXT) + ' more characters]' : text;

/** The text of one value of a line; at depth 0, strings are shown as they are. */
export function show(value: unknown, depth: number): string {
  try {
    return inspect(value, depth, null);
  } catch {
    return spend(NOT_SHOWN);
  }
}

/** A value as plain JSON, truncated to the number of characters that the line has left. */
export const showJson = (value: unknown): string =>
  spend(toText(startOfJson(max(room, 0), (cut) => stringify(value, cut) as string | undefined)));

function showMember(holder: object, key: PropertyKey, depth: number, ancestors: Chain): string {
  try {
    return inspect((holder as Record<PropertyKey, unknown>)[key], depth, ancestors);
  } catch {
    return spend(NOT_SHOWN);
  }
}

function spend(text: string): string {
  room -= max(text.length, MIN_UNITS);
  return text;
}

function inspect(value: unknown, depth: number, ancestors: Chain | null): string {
  switch (typeof value) {
    case 'string':
      return spend(depth === 0 ? value : quotedText(value));
    case 'bigint':
      return spend(value + 'n');
    case 'function':
      return spend('[Function ' + (toText(value.name) || 'anonymous') + ']');
    case 'object':
      return value === null ? spend('null') : inspectObject(value, depth, ancestors);
    default:
      return spend(toText(value));
  }
}

function quotedText(text: string): string {
  return text.length > room ? stringify(slice(text, 0, max(room, 0))) + '…' : stringify(text);
}

function inspectObject(value: object, depth: number, ancestors: Chain | null): string {
  for (let link = ancestors; link !== null; link = link.up) if (link.value === value) return spend('[Circular]');
  const chain = { value, up: ancestors };
  if (isError(value)) return depth === 0 ? inspectError(value, chain) : spend(errorTitle(value));
  if (isDate(value)) return spend(isFiniteNumber(dateGetTime(value)) ? dateToIso(value) : 'Invalid Date');
  if (isRegExp(value)) return spend(regExpToString(value));
  if (isUrl(value)) return spend('URL ' + stringify(toText(value)));
  if (isUrlSearchParams(value)) return spend('URLSearchParams ' + stringify(toText(value)));
  if (isPromise(value)) return spend('Promise { … }');
  if (isArrayBuffer(value)) return spend('ArrayBuffer(' + bufferLength(value) + ' bytes)');
  if (depth > MAX_DEPTH) return spend(isArray(value) ? '[…]' : '{…}');
  room -= MIN_UNITS;
  return inspectMembers(value, depth + 1, chain);
}

/** `depth`: the depth of the members. */
function inspectMembers(value: object, depth: number, chain: Chain): string {
  if (isArray(value)) return shownList('[', value.length, ']', (index) => showMember(value, index, depth, chain));
  if (isTypedArray(value)) {
    const length = typedArrayLength(value);
    const title = (value.constructor as { name?: unknown }).name + '(' + length + ') [';
    return shownList(title, length, ']', (index) => showMember(value, index, depth, chain));
  }
  if (isMap(value)) {
    const entries = mapEntries(value);
    return shownList('Map {', mapSize(value), '}', () => {
      const entry = entries.next().value as object;
      return showMember(entry, 0, depth, chain) + ' => ' + showMember(entry, 1, depth, chain);
    });
  }
  if (isSet(value)) {
    const values = setValues(value);
    return shownList('Set {', setSize(value), '}', () => showMember(values.next(), 'value', depth, chain));
  }
  const names = keys(value);
  const body =
    names.length === 0
      ? '{}'
      : shownList('{ ', names.length, ' }', (index) => {
          const name = names[index]!;
          return name + ': ' + showMember(value, name, depth, chain);
        });
  const className = valueClassName(value);
  return className === '' || className === 'Object' ? body : className + ' ' + body;
}

function shownList(open: string, count: number, close: string, showNext: (index: number) => string): string {
  const shown: string[] = [];
  let index = 0;
  for (; index < count && index < MAX_MEMBERS && hasRoom(); index++) shown[index] = showNext(index);
  if (index < count) shown[index] = '… ' + (count - index) + ' more';
  return open + join(shown, ', ') + close;
}

/** The text of an error: its stack, and the errors that it holds. */
function inspectError(error: Error, chain: Chain): string {
  let shown = spend(errorTitle(error));
  const stack = stackText(error);
  // The title in the stack may be older than the error's name and message.
  const frames = indexOf(stack, '\n    at ');
  if (frames >= 0) shown += slice(stack, frames);
  return shown + showHeldErrors(error, chain);
}

/** An error that has lost its prototype has no member `stack`, but the engine still has its stack. */
function stackText(error: Error): string {
  const stack: unknown = getPrototypeOf(error) === null ? scriptStack(error) : error.stack;
  return typeof stack === 'string' ? stack : '';
}

function showHeldErrors(error: Error, chain: Chain): string {
  const held = heldErrors(error);
  let shown = '';
  for (let index = 0; index < held.length; index++)
    shown += '\n  [' + held[index] + ']: ' + showMember(error, held[index]!, 1, chain);
  return shown;
}

/** The message of a thrown error; a SuppressedError has no useful message without the errors that it holds. */
export function thrownMessage(error: Error): string {
  const message = readText(error, 'message', '');
  const isMadeOfOthers = getOwnPropertyDescriptor(error, 'suppressed') !== undefined;
  return isMadeOfOthers
    ? makeLine(() => message + showHeldErrors(error, { value: error, up: null }))
    : capText(message);
}

/** The name of a value's class; for a generator, which has no class, its tag. */
function valueClassName(value: object): string {
  const prototype = getPrototypeOf(value) as { constructor?: unknown } | null;
  const constructor = prototype?.constructor;
  if (typeof constructor === 'function') return toText(constructor.name);
  const tag = (value as { [toStringTag]?: unknown })[toStringTag];
  return typeof tag === 'string' ? tag : '';
}
