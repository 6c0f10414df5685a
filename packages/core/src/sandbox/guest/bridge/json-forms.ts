// The forms in which values of the language's own classes leave the guest, where JSON has none for them.
import { create, Uint8Array } from '../primordials.js';
import { Buffer, BufferData } from '../standard-library/buffer.js';
import {
  bufferLength,
  inheritsFrom,
  isArrayBuffer,
  isMap,
  isSafeInteger,
  isSet,
  isTypedArray,
  mapEntries,
  setValues,
  toNumber,
  toText,
  typedArrayLength,
} from './captured.js';

const isUint8Array = inheritsFrom(Uint8Array);
const isBufferData = inheritsFrom(BufferData);
const isBuffer = inheritsFrom(Buffer);

/** Bytes that a script holds. */
export interface Bytes {
  /** `Uint8Array`, `Buffer` or `ArrayBuffer`. */
  readonly type: string;
  readonly length: number;
  readonly data: Uint8Array;
}

/** The bytes of a value; undefined if it holds none. */
export function valueBytes(value: unknown): Bytes | undefined {
  try {
    if (isBufferData(value)) return bytes('Buffer', new Uint8Array(value.data));
    if (isUint8Array(value)) return bytes(isBuffer(value) ? 'Buffer' : 'Uint8Array', value);
    return isArrayBuffer(value) && bufferLength(value) >= 0 ? bytes('ArrayBuffer', new Uint8Array(value)) : undefined;
  } catch {
    return undefined;
  }
}

function bytes(type: string, data: Uint8Array): Bytes {
  return { type, length: typedArrayLength(data), data };
}

/**
 * A Map with texts as keys as an object, another Map as a list of pairs, a Set or numbers as a list, and a BigInt as a
 * number or, beyond the safe integers, as its digits. Undefined for any other value.
 */
export function plainForm(value: unknown): unknown {
  if (typeof value === 'bigint') return isSafeInteger(toNumber(value)) ? toNumber(value) : toText(value);
  try {
    if (isMap(value)) return mapForm(value);
    if (isSet(value)) return iteratedList(setValues(value));
    return isTypedArray(value) ? numberList(value as unknown as ArrayLike<unknown> & object) : undefined;
  } catch {
    // The value only inherits from the class.
    return undefined;
  }
}

function iteratedList(values: Iterator<unknown>): unknown[] {
  const list: unknown[] = [];
  for (let step = values.next(); step.done !== true; step = values.next()) list[list.length] = step.value;
  return list;
}

function mapForm(map: object): object {
  const pairs = iteratedList(mapEntries(map)) as [unknown, unknown][];
  const members = create(null) as Record<string, unknown>;
  for (let index = 0; index < pairs.length; index++) {
    const key = pairs[index]![0];
    if (typeof key !== 'string') return pairs;
    members[key] = pairs[index]![1];
  }
  return members;
}

function numberList(numbers: ArrayLike<unknown> & object): unknown[] {
  const list: unknown[] = [];
  const length = typedArrayLength(numbers);
  for (let index = 0; index < length; index++) list[index] = numbers[index];
  return list;
}
