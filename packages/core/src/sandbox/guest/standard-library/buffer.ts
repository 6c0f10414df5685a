// Buffer, as far as scripts use it: bytes of a text in the usual encodings, and the text of bytes.
import { ArrayBuffer, isArray, max, min, Number, RangeError, String, TypeError, Uint8Array } from '../primordials.js';
import { TextDecoder, TextEncoder } from './text-encoding.js';

type Encoding = 'utf8' | 'hex' | 'base64' | 'base64url' | 'ascii' | 'latin1' | 'utf16le';

/** The engine's own conversions, which the declarations of TypeScript lack. */
interface Conversions {
  toHex(): string;
  toBase64(options?: { alphabet?: string; omitPadding?: boolean }): string;
}
const { fromBase64 } = Uint8Array as unknown as { fromBase64(text: string): Uint8Array };

function encodingNamed(name: unknown): Encoding {
  const wanted = name === undefined || name === null ? 'utf8' : String(name).toLowerCase();
  switch (wanted) {
    case 'utf8':
    case 'utf-8':
      return 'utf8';
    case 'hex':
    case 'base64':
    case 'base64url':
    case 'ascii':
    case 'latin1':
      return wanted;
    case 'binary':
      return 'latin1';
    case 'utf16le':
    case 'utf-16le':
    case 'ucs2':
    case 'ucs-2':
      return 'utf16le';
    default:
      throw new TypeError('Unknown encoding: ' + wanted);
  }
}

function encodedBytes(text: string, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case 'utf8':
      return new TextEncoder().encode(text);
    case 'hex':
      return hexBytes(text);
    case 'base64':
    case 'base64url':
      return base64Bytes(text);
    case 'utf16le':
      return unitBytes(text);
    default: {
      const bytes = new Uint8Array(text.length);
      for (let index = 0; index < bytes.length; index++) bytes[index] = text.charCodeAt(index);
      return bytes;
    }
  }
}

/** As in Node.js, the bytes end before the first pair that is not hexadecimal. */
function hexBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >>> 1);
  for (let index = 0; index < bytes.length; index++) {
    const pair = text.slice(2 * index, 2 * index + 2);
    if (!/^[\da-f]{2}$/i.test(pair)) return bytes.slice(0, index);
    bytes[index] = Number('0x' + pair);
  }
  return bytes;
}

/** As in Node.js, both alphabets are read, other characters are skipped, and the first `=` ends the text. */
function base64Bytes(text: string): Uint8Array {
  const end = text.indexOf('=');
  const plain = (end < 0 ? text : text.slice(0, end))
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/[^\w+/]/g, '');
  const whole = plain.length % 4 === 1 ? plain.slice(0, -1) : plain;
  return fromBase64(whole + '=='.slice(0, (4 - (whole.length % 4)) % 4));
}

function unitBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(2 * text.length);
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    bytes[2 * index] = unit;
    bytes[2 * index + 1] = unit >>> 8;
  }
  return bytes;
}

function decodedText(bytes: Uint8Array, encoding: Encoding): string {
  const conversions = bytes as unknown as Conversions;
  switch (encoding) {
    case 'utf8':
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    case 'hex':
      return conversions.toHex();
    case 'base64':
      return conversions.toBase64();
    case 'base64url':
      return conversions.toBase64({ alphabet: 'base64url', omitPadding: true });
    case 'utf16le':
      return unitText(bytes);
    default: {
      const mask = encoding === 'ascii' ? 0x7f : 0xff;
      let text = '';
      for (let index = 0; index < bytes.length; index++) text += String.fromCharCode(bytes[index]! & mask);
      return text;
    }
  }
}

function unitText(bytes: Uint8Array): string {
  let text = '';
  for (let index = 0; index + 1 < bytes.length; index += 2)
    text += String.fromCharCode(bytes[index]! | (bytes[index + 1]! << 8));
  return text;
}

export class Buffer extends Uint8Array {
  // oxlint-disable-next-line typescript/no-explicit-any -- the overloads of Uint8Array return other types
  static override from(source: unknown, second?: unknown, length?: number): any {
    if (typeof source === 'string') return wrapped(encodedBytes(source, encodingNamed(second)));
    if (source instanceof ArrayBuffer) return new Buffer(source, second as number | undefined, length);
    if (ArrayBuffer.isView(source) || isArray(source)) return new Buffer(source as unknown as number[]);
    const data = (source as { data?: unknown } | null | undefined)?.data;
    if (isArray(data)) return new Buffer(data as number[]);
    throw new TypeError('Buffer.from takes a string, an ArrayBuffer, bytes or a list of numbers');
  }

  static alloc(size: number, fill?: unknown, encoding?: unknown): Buffer {
    const buffer = new Buffer(size);
    if (typeof fill === 'number') buffer.fill(fill);
    else if (typeof fill === 'string') {
      const bytes = encodedBytes(fill, encodingNamed(encoding));
      for (let index = 0; bytes.length > 0 && index < size; index++) buffer[index] = bytes[index % bytes.length]!;
    }
    return buffer;
  }

  static concat(list: readonly Uint8Array[], total?: number): Buffer {
    let size = 0;
    for (const bytes of list) size += bytes.length;
    const buffer = new Buffer(total ?? size);
    let at = 0;
    for (const bytes of list) {
      const part = bytes.subarray(0, max(buffer.length - at, 0));
      buffer.set(part, at);
      at += part.length;
    }
    return buffer;
  }

  static isBuffer(value: unknown): boolean {
    return value instanceof Buffer;
  }

  static isEncoding(name: unknown): boolean {
    try {
      return typeof name === 'string' && encodingNamed(name) !== undefined;
    } catch {
      return false;
    }
  }

  static byteLength(value: unknown, encoding?: unknown): number {
    return typeof value === 'string'
      ? encodedBytes(value, encodingNamed(encoding)).length
      : (value as { byteLength: number }).byteLength;
  }

  static compare(left: Uint8Array, right: Uint8Array): number {
    const least = min(left.length, right.length);
    for (let index = 0; index < least; index++)
      if (left[index] !== right[index]) return left[index]! < right[index]! ? -1 : 1;
    return left.length === right.length ? 0 : left.length < right.length ? -1 : 1;
  }

  override toString(encoding?: unknown, start = 0, end = this.length): string {
    return decodedText(this.subarray(max(start, 0), max(end, 0)), encodingNamed(encoding));
  }

  toJSON(): object {
    return new BufferData([...this]);
  }

  equals(other: Uint8Array): boolean {
    return Buffer.compare(this, other) === 0;
  }

  compare(other: Uint8Array): number {
    return Buffer.compare(this, other);
  }

  /** As in Node.js, the part shares the memory of the whole. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the overloads of Uint8Array return other types
  override slice(start?: number, end?: number): any {
    return this.subarray(start, end);
  }

  write(text: string, offset: unknown = 0, length?: unknown, encoding?: unknown): number {
    const at = typeof offset === 'number' ? offset : 0;
    if (at > this.length) throw new RangeError('The offset is after the end of the buffer');
    const named = typeof offset === 'string' ? offset : typeof length === 'string' ? length : encoding;
    const room = typeof length === 'number' ? length : this.length - at;
    const part = encodedBytes(text, encodingNamed(named)).subarray(0, min(room, this.length - at));
    this.set(part, at);
    return part.length;
  }
}

/** The JSON form of a buffer. A class, so that the bridge recognizes the form and refuses it, as other bytes. */
export class BufferData {
  readonly type = 'Buffer';
  readonly data: readonly number[];

  constructor(data: readonly number[]) {
    this.data = data;
  }
}

function wrapped(bytes: Uint8Array): Buffer {
  return new Buffer(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}
