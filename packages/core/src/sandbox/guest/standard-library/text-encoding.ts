// TextEncoder and TextDecoder.
//
// The fastest conversions of the engine use texts whose characters are bytes ("binary text", U+0000 to U+00FF). `btoa`
// and `atob` convert between such a text and base64, which the engine converts to bytes and back.
// `unescape(encodeURIComponent(text))` converts a text to its UTF-8 as binary text, and
// `decodeURIComponent(escape(binary))` converts the binary text back. `decodeDamagedUtf8` runs only for input that is
// not well-formed UTF-8.

import {
  ArrayBuffer,
  atob,
  Boolean,
  btoa,
  decodeURIComponent,
  encodeURIComponent,
  escape,
  RangeError,
  String,
  TypeError,
  Uint8Array,
  unescape,
} from '../primordials.js';

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

const NOT_ASCII = /[^\0-\x7f]/;
const MAX_UNITS_AT_ONCE = 4096;
// U+0080 to U+009F of windows-1252; every other byte is its own code point.
const WINDOWS_1252_HIGH =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';
const LABELS: readonly (readonly [Encoding, string])[] = [
  ['utf-8', 'utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8'],
  ['utf-16le', 'utf-16le utf-16 ucs-2 unicode csunicode iso-10646-ucs-2 unicodefeff'],
  ['utf-16be', 'utf-16be unicodefffe'],
  [
    'windows-1252',
    'windows-1252 latin1 iso-8859-1 ascii us-ascii ansi_x3.4-1968 cp1252 cp819 csisolatin1 ibm819 ' +
      'iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 x-cp1252',
  ],
];

export class TextEncoder {
  get encoding(): 'utf-8' {
    return 'utf-8';
  }

  encode(text: unknown = ''): Uint8Array<ArrayBuffer> {
    return binaryToBytes(textToBinary(String(text).toWellFormed()));
  }

  encodeInto(text: unknown, destination: Uint8Array): { read: number; written: number } {
    if (!(destination instanceof Uint8Array)) {
      throw new TypeError('TextEncoder.encodeInto writes into a Uint8Array: pass one as the second argument');
    }
    const source = String(text).toWellFormed();
    const bytes = this.encode(source);
    let written = bytes.length;
    if (written > destination.length) {
      written = destination.length;
      while (written > 0 && (bytes[written]! & 0xc0) === 0x80) written--;
    }
    destination.set(bytes.subarray(0, written));
    const whole = written === bytes.length;
    return { read: whole ? source.length : decodeUtf8(bytes.subarray(0, written), true).length, written };
  }
}

export class TextDecoder {
  readonly #encoding: Encoding;
  readonly #fatal: boolean;
  readonly #ignoreBOM: boolean;
  /** The bytes of a character that the last chunk contains only in part. */
  #pending = new Uint8Array(0);
  /** True after the first character of the stream. */
  #hasStarted = false;

  constructor(label: unknown = 'utf-8', options: { fatal?: unknown; ignoreBOM?: unknown } | null = {}) {
    this.#encoding = labelEncoding(String(label));
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBOM = Boolean(options?.ignoreBOM);
  }

  get encoding(): string {
    return this.#encoding;
  }

  get fatal(): boolean {
    return this.#fatal;
  }

  get ignoreBOM(): boolean {
    return this.#ignoreBOM;
  }

  decode(input?: unknown, options?: { stream?: unknown } | null): string {
    let bytes = join(this.#pending, inputBytes(input));
    const more = Boolean(options?.stream);
    const unfinished = more ? unfinishedLength(bytes, this.#encoding) : 0;
    this.#pending = bytes.slice(bytes.length - unfinished);
    if (unfinished > 0) bytes = bytes.subarray(0, bytes.length - unfinished);
    let text: string;
    try {
      text = decodeWhole(bytes, this.#encoding, this.#fatal);
    } catch (error) {
      this.#reset();
      throw error;
    }
    if (!this.#hasStarted && text !== '') {
      this.#hasStarted = true;
      if (!this.#ignoreBOM && text[0] === '\ufeff' && this.#encoding !== 'windows-1252') text = text.slice(1);
    }
    if (!more) this.#reset();
    return text;
  }

  #reset(): void {
    this.#pending = new Uint8Array(0);
    this.#hasStarted = false;
  }
}

function labelEncoding(label: string): Encoding {
  const wanted = label.trim().toLowerCase();
  for (const [encoding, labels] of LABELS) {
    if (wanted !== '' && !wanted.includes(' ') && ` ${labels} `.includes(` ${wanted} `)) return encoding;
  }
  throw new RangeError(`The encoding "${label}" is not available: use utf-8, utf-16le, utf-16be or latin1`);
}

function inputBytes(input: unknown): Uint8Array {
  if (input === undefined) return new Uint8Array(0);
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  throw new TypeError('TextDecoder.decode takes an ArrayBuffer, a typed array or a DataView');
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function unfinishedLength(bytes: Uint8Array, encoding: Encoding): number {
  if (encoding === 'utf-8') return unfinishedUtf8(bytes);
  if (encoding === 'windows-1252') return 0;
  const odd = bytes.length % 2;
  const last = bytes.length - odd - 2;
  const high = last < 0 ? 0 : bytes[encoding === 'utf-16le' ? last + 1 : last]!;
  return high >= 0xd8 && high <= 0xdb ? odd + 2 : odd;
}

function unfinishedUtf8(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const start = bytes.length - back;
    const lead = bytes[start]!;
    if ((lead & 0xc0) === 0x80) continue;
    const good = back === 1 || isSecondByte(lead, bytes[start + 1]);
    return good && continuationCount(lead) >= back ? back : 0;
  }
  return 0;
}

function decodeWhole(bytes: Uint8Array, encoding: Encoding, fatal: boolean): string {
  if (encoding === 'utf-8') return decodeUtf8(bytes, fatal);
  if (encoding === 'windows-1252') {
    return bytesToBinary(bytes).replace(
      /[\x80-\x9f]/g,
      (character) => WINDOWS_1252_HIGH[character.charCodeAt(0) - 128]!,
    );
  }
  return decodeUtf16(bytes, encoding, fatal);
}

function decodeUtf8(bytes: Uint8Array, fatal: boolean): string {
  const binary = bytesToBinary(bytes);
  if (!NOT_ASCII.test(binary)) return binary;
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    if (fatal) throw notValid('utf-8');
    return decodeDamagedUtf8(bytes);
  }
}

// Writes one U+FFFD for each maximal incomplete sequence, as the Encoding standard requires.
function decodeDamagedUtf8(bytes: Uint8Array): string {
  let text = '';
  let at = 0;
  while (at < bytes.length) {
    const lead = bytes[at++]!;
    if (lead < 0x80) {
      text += String.fromCharCode(lead);
      continue;
    }
    let needed = continuationCount(lead);
    let point = needed === 0 ? 0xfffd : lead & (0x3f >> needed);
    let good = isSecondByte(lead, bytes[at]);
    while (needed > 0 && good) {
      point = (point << 6) | (bytes[at++]! & 0x3f);
      needed--;
      good = (bytes[at]! & 0xc0) === 0x80;
    }
    text += needed > 0 ? '\ufffd' : String.fromCodePoint(point);
  }
  return text;
}

function continuationCount(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 1;
  if (lead >= 0xe0 && lead <= 0xef) return 2;
  return lead >= 0xf0 && lead <= 0xf4 ? 3 : 0;
}

// Whether the byte may follow the lead byte. Excludes overlong forms, surrogates and code points above U+10FFFF.
function isSecondByte(lead: number, byte: number | undefined): boolean {
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  return byte !== undefined && byte >= low && byte <= high;
}

function decodeUtf16(bytes: Uint8Array, encoding: Encoding, fatal: boolean): string {
  const high = encoding === 'utf-16le' ? 1 : 0;
  const end = bytes.length - (bytes.length % 2);
  let text = '';
  for (let from = 0; from < end; from += 2 * MAX_UNITS_AT_ONCE) {
    const units: number[] = [];
    for (let at = from; at < end && at < from + 2 * MAX_UNITS_AT_ONCE; at += 2) {
      units.push((bytes[at + high]! << 8) | bytes[at + 1 - high]!);
    }
    text += String.fromCharCode(...units);
  }
  if (fatal && (end < bytes.length || !text.isWellFormed())) throw notValid(encoding);
  // An odd byte at the end and an unpaired surrogate before it are one error.
  const merged = end < bytes.length && /[\ud800-\udbff]$/.test(text);
  return text.toWellFormed() + (end < bytes.length && !merged ? '\ufffd' : '');
}

function notValid(encoding: Encoding): TypeError {
  return new TypeError(`The encoded data was not valid for encoding ${encoding}`);
}

function textToBinary(text: string): string {
  return NOT_ASCII.test(text) ? unescape(encodeURIComponent(text)) : text;
}

function binaryToBytes(binary: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(btoa(binary));
}

function bytesToBinary(bytes: Uint8Array): string {
  return atob(bytes.toBase64());
}
