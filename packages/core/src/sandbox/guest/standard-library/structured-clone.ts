// structuredClone.
//
// One pass makes the copy: `copies` maps every object already met to its copy, so that cycles and shared objects keep
// their shape. A getter or a method of the engine that throws for every other kind decides the kind of most objects.
// The members of an object never decide its kind, because a script can set them.

import {
  apply,
  ArrayBuffer,
  BigInt,
  Boolean,
  construct,
  DataView,
  Date,
  defineProperty,
  DOMException,
  Error,
  FinalizationRegistry,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  isArray,
  keys,
  Map,
  Number,
  Object,
  Promise,
  Reflect,
  RegExp,
  Set,
  String,
  Symbol,
  TypeError,
  Uint8Array,
  WeakMap,
  WeakRef,
  WeakSet,
} from '../primordials.js';
import { TextDecoder, TextEncoder } from './text-encoding.js';
import { URLSearchParams } from './url/search-params.js';
import { URL } from './url/url.js';

type Copies = Map<object, unknown>;
/** Reads an internal slot; throws for an object that does not have it. */
type SlotReader = (this: unknown) => unknown;

interface Kind {
  readonly read: SlotReader;
  readonly copy: (source: object, copies: Copies) => object;
}

const { hasOwn } = Object;
const { isPrototypeOf } = Object.prototype;

const typedArrayPrototype = getPrototypeOf(Uint8Array.prototype)!;
const typedArrayName = getter(typedArrayPrototype, Symbol.toStringTag);
const typedArrayBuffer = getter(typedArrayPrototype, 'buffer');
const typedArrayOffset = getter(typedArrayPrototype, 'byteOffset');
const typedArrayLength = getter(typedArrayPrototype, 'length');
const viewBuffer = getter(DataView.prototype, 'buffer');
const viewOffset = getter(DataView.prototype, 'byteOffset');
const viewLength = getter(DataView.prototype, 'byteLength');
const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');
const bufferMaximum = getter(ArrayBuffer.prototype, 'maxByteLength');
const bufferResizable = getter(ArrayBuffer.prototype, 'resizable');
const bufferDetached = getter(ArrayBuffer.prototype, 'detached');
const bufferSlice = ArrayBuffer.prototype.slice;
const dateTime = Date.prototype.getTime;
const expressionSource = getter(RegExp.prototype, 'source');
const expressionFlags = getter(RegExp.prototype, 'flags');
const mapSize = getter(Map.prototype, 'size');
const mapForEach = Map.prototype.forEach;
const mapSet = Map.prototype.set;
const setSize = getter(Set.prototype, 'size');
const setForEach = Set.prototype.forEach;
const setAdd = Set.prototype.add;

// The constructors for copies of typed arrays, by name.
const typedArrays: Record<string, Uint8ArrayConstructor | undefined> = { __proto__: null as never };
for (const name of (
  'Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array ' +
  'BigUint64Array Float16Array Float32Array Float64Array'
).split(' ')) {
  typedArrays[name] = (globalThis as unknown as typeof typedArrays)[name];
}

const errors: Record<string, ErrorConstructor | undefined> = { __proto__: null as never, Error };
for (const name of ['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']) {
  errors[name] = (globalThis as unknown as typeof errors)[name];
}

// The first kind whose `read` does not throw makes the copy.
const kinds: readonly Kind[] = [
  { read: dateTime, copy: (value) => new Date(apply(dateTime, value as Date, [])) },
  { read: mapSize, copy: copyMap },
  { read: setSize, copy: copySet },
  { read: expressionSource, copy: copyExpression },
  { read: bufferLength, copy: copyBuffer },
  { read: typedArrayBuffer, copy: copyTypedArray },
  { read: viewBuffer, copy: copyView },
  ...[Boolean, Number, String, BigInt].map(({ prototype: { valueOf } }): Kind => ({
    read: valueOf,
    copy: (value) => Object(apply(valueOf as SlotReader, value, [])) as object,
  })),
];

// The prototypes of objects whose internal state cannot be copied.
const refusedPrototypes: readonly object[] = [
  Promise.prototype,
  WeakMap.prototype,
  WeakSet.prototype,
  WeakRef.prototype,
  FinalizationRegistry.prototype,
  URL.prototype,
  URLSearchParams.prototype,
  TextEncoder.prototype,
  TextDecoder.prototype,
  getPrototypeOf(getPrototypeOf([].values())!)!,
  getPrototypeOf(getPrototypeOf((async function* () {})())!)!,
  Symbol.prototype,
];

export function structuredClone(value: unknown, options?: { transfer?: Iterable<unknown> | undefined }): unknown {
  if (arguments.length === 0) throw new TypeError('structuredClone takes the value to copy');
  const transfer = options?.transfer;
  if (transfer !== undefined && [...transfer].length > 0) {
    throw notCloneable('structuredClone copies here and cannot transfer: omit the option "transfer"');
  }
  return clone(value, new Map());
}

function clone(value: unknown, copies: Copies): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') throw refusal(value);
  if (typeof value !== 'object' || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (isArray(value)) return copyArray(value, copies);
  const prototype = getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? copyPlain(value, copies) : copySpecial(value, copies);
}

function copySpecial(value: object, copies: Copies): unknown {
  if (Error.isError(value) || apply(isPrototypeOf, DOMException.prototype, [value]))
    return copyError(value as Error, copies);
  for (const { read, copy } of kinds) {
    if (!answers(read, value)) continue;
    const result = copy(value, copies);
    copies.set(value, result);
    return result;
  }
  if (refusedPrototypes.some((prototype) => apply(isPrototypeOf, prototype, [value]))) throw refusal(value);
  return copyPlain(value, copies);
}

function answers(read: SlotReader, value: object): boolean {
  try {
    apply(read, value, []);
    return true;
  } catch {
    return false;
  }
}

function copyPlain(source: object, copies: Copies): object {
  const target = {};
  copies.set(source, target);
  return copyProperties(source, target, copies);
}

function copyProperties<Target extends object>(source: object, target: Target, copies: Copies): Target {
  for (const key of keys(source)) {
    if (hasOwn(source, key)) setOwn(target, key, clone((source as Record<string, unknown>)[key], copies));
  }
  return target;
}

function copyArray(source: readonly unknown[], copies: Copies): unknown[] {
  const target: unknown[] = [];
  copies.set(source, target);
  const { length } = source;
  copyProperties(source, target, copies);
  target.length = length;
  return target;
}

function copyMap(source: object, copies: Copies): object {
  const target = new Map<unknown, unknown>();
  copies.set(source, target);
  const entries: [unknown, unknown][] = [];
  apply(mapForEach, source as never, [(value: unknown, key: unknown) => entries.push([key, value])]);
  for (const [key, value] of entries) apply(mapSet, target, [clone(key, copies), clone(value, copies)]);
  return target;
}

function copySet(source: object, copies: Copies): object {
  const target = new Set<unknown>();
  copies.set(source, target);
  const values: unknown[] = [];
  apply(setForEach, source as never, [(value: unknown) => values.push(value)]);
  for (const value of values) apply(setAdd, target, [clone(value, copies)]);
  return target;
}

function copyExpression(source: object): object {
  return new RegExp(apply(expressionSource, source, []) as string, apply(expressionFlags, source, []) as string);
}

function copyBuffer(source: object): object {
  if (apply(bufferDetached, source, [])) {
    throw notCloneable('An ArrayBuffer is detached and could not be cloned.');
  }
  const bytes = apply(bufferSlice, source as ArrayBuffer, [0]);
  if (!apply(bufferResizable, source, [])) return bytes;
  const target = new ArrayBuffer(apply(bufferLength, source, []) as number, {
    maxByteLength: apply(bufferMaximum, source, []) as number,
  });
  new Uint8Array(target).set(new Uint8Array(bytes));
  return target;
}

function copyTypedArray(source: object, copies: Copies): object {
  const buffer = clone(apply(typedArrayBuffer, source, []), copies);
  const Type = typedArrays[apply(typedArrayName, source, []) as string]!;
  return construct(Type, [buffer, apply(typedArrayOffset, source, []), apply(typedArrayLength, source, [])]) as object;
}

function copyView(source: object, copies: Copies): object {
  const buffer = clone(apply(viewBuffer, source, []), copies);
  return construct(DataView, [buffer, apply(viewOffset, source, []), apply(viewLength, source, [])]) as object;
}

function copyError(source: Error, copies: Copies): Error {
  if (apply(isPrototypeOf, DOMException.prototype, [source])) {
    const target = new DOMException(source.message, source.name);
    copies.set(source, target);
    return target;
  }
  const name = String(source.name);
  const prototype = (errors[name] ?? Error).prototype;
  const target = construct(Error, [], errors[name] ?? Error) as Error;
  copies.set(source, target);
  if (getPrototypeOf(target) !== prototype) Reflect.setPrototypeOf(target, prototype);
  const message = getOwnPropertyDescriptor(source, 'message');
  if (message !== undefined && 'value' in message) defineHidden(target, 'message', String(message.value));
  defineHidden(target, 'stack', typeof source.stack === 'string' ? source.stack : undefined);
  if (hasOwn(source, 'cause')) defineHidden(target, 'cause', clone(source.cause, copies));
  return target;
}

function setOwn(target: object, key: string, value: unknown): void {
  if (key in target) defineProperty(target, key, { value, writable: true, configurable: true, enumerable: true });
  else (target as Record<string, unknown>)[key] = value;
}

function defineHidden(target: object, key: string, value: unknown): void {
  defineProperty(target, key, { value, writable: true, configurable: true, enumerable: false });
}

function getter(prototype: object, key: string | symbol): SlotReader {
  return getOwnPropertyDescriptor(prototype, key)!.get!;
}

function refusal(value: unknown): DOMException {
  if (typeof value === 'object') return notCloneable(`#<${constructorName(value!)}> could not be cloned.`);
  const text = String(value);
  return notCloneable(`${text.length > 100 ? `${text.slice(0, 100)}…` : text} could not be cloned.`);
}

function constructorName(value: object): string {
  const name: unknown = (value.constructor as { name?: unknown } | undefined)?.name;
  return typeof name === 'string' && name !== '' ? name : 'Object';
}

function notCloneable(message: string): DOMException {
  return new DOMException(message, 'DataCloneError');
}
