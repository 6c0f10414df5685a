import { MAX_JSON_DEPTH } from '../../protocol/json.js';

/** The diagnostic code for a part of a result that JSON does not have and that was converted. */
export const RESULT_CONVERTED = 'result-converted';

/** The maximum number of converted parts of one result that are reported. */
const MAX_NOTES = 3;

/** A part of a result that JSON would lose, and that has no data to convert. */
export interface LostPart {
  /** The path in the result, such as `.body`. */
  readonly path: string;
  /** The kind of the object, such as `a Response`. */
  readonly kind: string;
}

/**
 * Searches a result for values that JSON does not have, and counts the result's values. It changes nothing.
 */
export class ResultLook {
  /** The number of visited values and member names. */
  values = 1;
  /** The first object that JSON would lose. Values nested too deeply for JSON are rejected later. */
  readonly lost: LostPart | undefined;
  hasErrors = false;
  /** True if the result holds values that `convertResult` converts. */
  isConvertible = false;
  readonly #maxValues: number;

  constructor(result: unknown, maxValues: number) {
    this.#maxValues = maxValues;
    this.lost = this.#look(result, 0);
  }

  #look(value: unknown, depth: number): LostPart | undefined {
    if (typeof value === 'bigint') this.isConvertible = true;
    if (typeof value !== 'object' || value === null || this.values > this.#maxValues) return undefined;
    if (value instanceof Error) {
      this.hasErrors = true;
      return undefined;
    }
    if (depth > MAX_JSON_DEPTH) return undefined;
    if (Array.isArray(value)) return this.#list(value, depth);
    const kind = objectKind(value);
    if (kind === 'plain') return this.#members(value as Record<string, unknown>, depth);
    if (kind === 'own form') return undefined;
    this.isConvertible = true;
    if (kind === 'bytes') return undefined;
    if (kind === 'collection') return this.#list([...(value as Iterable<unknown>)], depth);
    return { path: '', kind };
  }

  #list(list: readonly unknown[], depth: number): LostPart | undefined {
    this.values += list.length;
    for (let index = 0; index < list.length; index++) {
      const entry = list[index];
      if (isScalar(entry)) continue;
      const lost = this.#look(entry, depth + 1);
      if (lost !== undefined) return { ...lost, path: `[${index}]${lost.path}` };
    }
    return undefined;
  }

  #members(record: Record<string, unknown>, depth: number): LostPart | undefined {
    const keys = Object.keys(record);
    this.values += 2 * keys.length;
    for (const key of keys) {
      const member = record[key];
      if (isScalar(member)) continue;
      const lost = this.#look(member, depth + 1);
      if (lost !== undefined) return { ...lost, path: `.${key}${lost.path}` };
    }
    return undefined;
  }
}

/** A result as plain data, and a sentence about each part that was converted. */
export interface ConvertedResult {
  readonly value: unknown;
  readonly notes: readonly string[];
}

/**
 * Returns a copy of a result in which each value that JSON does not have became one that it has: a `Map` with text as
 * keys an object, another `Map` a list of pairs, a `Set` a list, a `BigInt` a number or, beyond the safe integers, its
 * digits, and bytes their base64 text. Throws if the result is nested too deeply.
 */
export function convertResult(result: unknown): ConvertedResult {
  const conversion = new Conversion();
  return { value: conversion.convert(result, 'result', 0), notes: conversion.notes };
}

class Conversion {
  readonly notes: string[] = [];

  convert(value: unknown, path: string, depth: number): unknown {
    if (typeof value === 'bigint') return this.#bigInt(value, path);
    if (typeof value !== 'object' || value === null || value instanceof Error) return value;
    if (depth > MAX_JSON_DEPTH) throw new RangeError('nested too deeply');
    if (Array.isArray(value)) return this.#list(value, path, depth);
    switch (objectKind(value)) {
      case 'bytes':
        this.#note(path, className(value), 'its base64 text');
        return base64(value as ArrayBufferView | ArrayBuffer);
      case 'collection':
        return this.#collection(value as Map<unknown, unknown> | Set<unknown>, path, depth);
      case 'plain':
        return Object.fromEntries(
          Object.entries(value).map(([key, member]) => [key, this.convert(member, `${path}.${key}`, depth + 1)]),
        );
      default:
        return value;
    }
  }

  #list(list: readonly unknown[], path: string, depth: number): unknown[] {
    return list.map((entry, index) => this.convert(entry, `${path}[${index}]`, depth + 1));
  }

  #collection(value: Map<unknown, unknown> | Set<unknown>, path: string, depth: number): unknown {
    const entries = this.#list([...value], path, depth);
    const isRecord = value instanceof Map && [...value.keys()].every((key) => typeof key === 'string');
    this.#note(path, className(value), isRecord ? 'an object' : value instanceof Map ? 'a list of pairs' : 'a list');
    return isRecord ? Object.fromEntries(entries as [string, unknown][]) : entries;
  }

  #bigInt(value: bigint, path: string): unknown {
    const isSafe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
    this.#note(path, 'BigInt', isSafe ? 'a number' : 'text with its digits');
    return isSafe ? Number(value) : String(value);
  }

  #note(path: string, from: string, to: string): void {
    if (this.notes.length < MAX_NOTES) this.notes.push(`${path} was ${article(from)} ${from}; it became ${to}.`);
  }
}

function base64(bytes: ArrayBufferView | ArrayBuffer): string {
  const view = ArrayBuffer.isView(bytes)
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : Buffer.from(bytes);
  return view.toString('base64');
}

/**
 * `own form`: JSON asks the object for it. `collection`: a Map or a Set. Any other text names an object that JSON would
 * lose.
 */
function objectKind(value: object): string {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return 'bytes';
  if (value instanceof Map || value instanceof Set) return 'collection';
  if (value instanceof Promise) return 'a Promise that was not awaited';
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return 'own form';
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype || Object.keys(value).length > 0) return 'plain';
  return hasHiddenData(prototype)
    ? `${article(className(value))} ${className(value)}, which JSON cannot represent; the tool must return its data`
    : 'plain';
}

/** Whether objects with this prototype show their data by accessors or iteration only, as a Response or a generator. */
function hasHiddenData(prototype: object): boolean {
  for (
    let at: object | null = prototype;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    if (Symbol.toStringTag in at || Symbol.iterator in at || Symbol.asyncIterator in at || at === RegExp.prototype)
      return true;
    for (const key of Object.getOwnPropertyNames(at))
      if (key !== '__proto__' && Object.getOwnPropertyDescriptor(at, key)?.get !== undefined) return true;
  }
  return false;
}

function className(value: object): string {
  const { constructor, [Symbol.toStringTag]: tag } = value as {
    constructor?: { name?: unknown };
    [Symbol.toStringTag]?: unknown;
  };
  const name = constructor?.name;
  if (typeof name === 'string' && name !== '' && name !== 'Object') return name;
  return typeof tag === 'string' ? tag : 'object';
}

const article = (name: string): string => (/^[aeio]/iu.test(name) ? 'an' : 'a');

/** Whether JSON writes the value as it is. */
function isScalar(value: unknown): boolean {
  return value === null || (typeof value !== 'object' && typeof value !== 'bigint');
}

/** The path of the first member that holds itself; undefined if none does. */
export function cyclePath(result: unknown): string | undefined {
  const above = new Set<object>();
  const done = new Set<object>();
  const search = (value: unknown, path: string): string | undefined => {
    if (typeof value !== 'object' || value === null) return undefined;
    if (above.has(value)) return path;
    if (above.size > MAX_JSON_DEPTH || done.has(value)) return undefined;
    above.add(value);
    for (const [key, member] of Object.entries(value)) {
      const found = search(member, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`);
      if (found !== undefined) return found;
    }
    above.delete(value);
    done.add(value);
    return undefined;
  };
  return search(result, 'result');
}
