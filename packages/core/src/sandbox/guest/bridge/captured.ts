// The methods that the bridge uses, as functions that take their receiver first. A script controls the members of its
// own values, so the bridge never looks up a method on such a value.
import {
  apply,
  Array,
  ArrayBuffer,
  Date,
  Error,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  Map,
  Number,
  Object,
  Promise,
  RegExp,
  Set,
  String,
  Uint8Array,
  WeakMap,
} from '../primordials.js';

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- each use says what its method takes
const uncurry = <Call>(method: (...values: never[]) => unknown): Call =>
  ((receiver: unknown, ...rest: unknown[]) => apply(method as () => unknown, receiver, rest as [])) as Call;

export const slice = uncurry<(text: string, start: number, end?: number) => string>(String.prototype.slice);
export const split = uncurry<(text: string, separator: string) => string[]>(String.prototype.split as never);
export const lower = uncurry<(text: string) => string>(String.prototype.toLowerCase);
export const codeUnit = uncurry<(text: string, index: number) => number>(String.prototype.charCodeAt);
export const indexOf = uncurry<(text: string, part: string) => number>(String.prototype.indexOf);
export const lastIndexOf = uncurry<(text: string, part: string) => number>(String.prototype.lastIndexOf);
export const startsWith = uncurry<(text: string, part: string) => boolean>(String.prototype.startsWith);
export const replace = uncurry<(text: string, pattern: RegExp, replacement: string) => string>(
  String.prototype.replace as never,
);
export const join = uncurry<(list: readonly string[], separator: string) => string>(Array.prototype.join);

type WeakGet = <Value>(map: WeakMap<object, Value>, key: unknown) => Value | undefined;
type WeakSetEntry = <Value>(map: WeakMap<object, Value>, key: object, value: Value) => void;
export const weakGet = uncurry<WeakGet>(WeakMap.prototype.get);
export const weakSet = uncurry<WeakSetEntry>(WeakMap.prototype.set as never);

export const mapGet = uncurry<<Key, Value>(map: Map<Key, Value>, key: Key) => Value | undefined>(Map.prototype.get);
export const mapSet = uncurry<<Key, Value>(map: Map<Key, Value>, key: Key, value: Value) => void>(Map.prototype.set);
export const mapDelete = uncurry<<Key>(map: Map<Key, unknown>, key: Key) => void>(Map.prototype.delete);
export const mapEntries = uncurry<(map: object) => Iterator<[unknown, unknown]>>(Map.prototype.entries);
export const setValues = uncurry<(set: object) => Iterator<unknown>>(Set.prototype.values);

type Getter<Value> = (receiver: object) => Value;
const prototypeGetter = <Value>(prototype: object, name: string): Getter<Value> =>
  uncurry(getOwnPropertyDescriptor(prototype, name)!.get!);

const TypedArray = getPrototypeOf(Uint8Array) as unknown as { readonly prototype: object };
export const mapSize = prototypeGetter<number>(Map.prototype, 'size');
export const setSize = prototypeGetter<number>(Set.prototype, 'size');
export const typedArrayLength = prototypeGetter<number>(TypedArray.prototype, 'length');
export const bufferLength = prototypeGetter<number>(ArrayBuffer.prototype, 'byteLength');

export const dateToIso = uncurry<(date: object) => string>(Date.prototype.toISOString);
export const dateGetTime = uncurry<(date: object) => number>(Date.prototype.getTime);
export const matches = uncurry<(pattern: RegExp, text: string) => boolean>(RegExp.prototype.test as never);
export const match = uncurry<(pattern: RegExp, text: string) => RegExpExecArray | null>(RegExp.prototype.exec as never);
export const regExpToString = uncurry<(pattern: object) => string>(RegExp.prototype.toString);

type Then = <Value>(
  promise: Promise<Value>,
  onFulfilled?: (value: Value) => unknown,
  onRejected?: (reason: unknown) => unknown,
) => unknown;
export const promiseThen = uncurry<Then>(Promise.prototype.then);

const { isPrototypeOf } = Object.prototype;
/**
 * Returns a function that returns true for values that inherit from the class's prototype, regardless of their members.
 */
export const inheritsFrom =
  <Instance extends object>(Class: { readonly prototype: Instance }) =>
  (value: unknown): value is Instance =>
    apply(isPrototypeOf, Class.prototype, [value]);

export const isMap = inheritsFrom(Map);
export const isSet = inheritsFrom(Set);
export const isDate = inheritsFrom(Date);
const inheritsFromError = inheritsFrom(Error);
const { isError: isEngineError } = Error;
/** Returns true also for an error that has lost its prototype. */
export const isError = (value: unknown): value is Error => isEngineError(value) || inheritsFromError(value);
export const isPromise = inheritsFrom(Promise);
export const isRegExp = inheritsFrom(RegExp);
export const isTypedArray = inheritsFrom(TypedArray);
export const isArrayBuffer = inheritsFrom(ArrayBuffer);

export const toText = String;
export const toNumber = Number;
export const { isFinite: isFiniteNumber, isSafeInteger } = Number;

export const toBase64 = uncurry<(bytes: Uint8Array) => string>(
  (Uint8Array.prototype as unknown as { toBase64: () => string }).toBase64,
);
export const { now: dateNow } = Date;
