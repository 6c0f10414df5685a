// The part of Web Crypto that scripts use. Random values come from the script's seed, so a replay repeats them.
import { ArrayBuffer, BigInt, DOMException, Math, min, Number, String, TypeError, Uint8Array } from '../primordials.js';
import { nameMembers, tag } from './define.js';

const MAX_RANDOM_BYTES = 65_536;

export function makeCrypto(randomWord: () => number): object {
  const fill = (bytes: Uint8Array): void => {
    for (let index = 0; index < bytes.length; index += 4) {
      const word = randomWord();
      for (let byte = index; byte < min(index + 4, bytes.length); byte++) bytes[byte] = word >>> (8 * (byte - index));
    }
  };
  const subtle = nameMembers({ digest });
  const crypto = {
    getRandomValues<Target extends ArrayBufferView>(target: Target): Target {
      if (!ArrayBuffer.isView(target) || !/^(?:Big)?(?:Ui|I)nt/.test(target.constructor.name))
        throw new DOMException('getRandomValues fills a typed array of integers', 'TypeMismatchError');
      if (target.byteLength > MAX_RANDOM_BYTES)
        throw new DOMException('getRandomValues gives 65536 bytes at most', 'QuotaExceededError');
      fill(new Uint8Array(target.buffer, target.byteOffset, target.byteLength));
      return target;
    },
    randomUUID(): string {
      const bytes = new Uint8Array(16);
      fill(bytes);
      bytes[6] = (bytes[6]! & 0x0f) | 0x40;
      bytes[8] = (bytes[8]! & 0x3f) | 0x80;
      const digits = hex(bytes);
      const part = (start: number, end: number): string => digits.slice(start, end);
      return part(0, 8) + '-' + part(8, 12) + '-' + part(12, 16) + '-' + part(16, 20) + '-' + part(20, 32);
    },
    subtle,
  };
  tag(subtle, 'SubtleCrypto');
  tag(crypto, 'Crypto');
  return crypto;
}

function hex(bytes: Uint8Array): string {
  let digits = '';
  for (const byte of bytes) digits += (byte < 16 ? '0' : '') + byte.toString(16);
  return digits;
}

async function digest(algorithm: unknown, data: unknown): Promise<ArrayBuffer> {
  const name = typeof algorithm === 'string' ? algorithm : (algorithm as { name?: unknown } | null)?.name;
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : data instanceof ArrayBuffer
      ? new Uint8Array(data)
      : undefined;
  if (bytes === undefined) throw new TypeError('digest takes bytes: use new TextEncoder().encode(text)');
  switch (String(name).toUpperCase()) {
    case 'SHA-1':
      return sha1(bytes);
    case 'SHA-256':
      return sha256(bytes);
    case 'SHA-384':
      return sha512(bytes, 8, 6);
    case 'SHA-512':
      return sha512(bytes, 0, 8);
    default:
      throw new DOMException('The digests are SHA-1, SHA-256, SHA-384 and SHA-512', 'NotSupportedError');
  }
}

/** The message with its padding: a one bit, zeros, and the length in bits (FIPS 180-4, section 5.1). */
function padded(bytes: Uint8Array, block: number, lengthBytes: number): Uint8Array {
  const size = block * Math.ceil((bytes.length + 1 + lengthBytes) / block);
  const message = new Uint8Array(size);
  message.set(bytes);
  message[bytes.length] = 0x80;
  let bits = bytes.length * 8;
  for (let index = size - 1; bits > 0; index--) {
    message[index] = bits % 256;
    bits = Math.floor(bits / 256);
  }
  return message;
}

const wordAt = (message: Uint8Array, at: number): number =>
  (message[at]! << 24) | (message[at + 1]! << 16) | (message[at + 2]! << 8) | message[at + 3]!;

function wordBytes(words: readonly number[]): ArrayBuffer {
  const bytes = new Uint8Array(words.length * 4);
  for (let index = 0; index < bytes.length; index++) bytes[index] = words[index >> 2]! >>> (24 - 8 * (index % 4));
  return bytes.buffer;
}

const left = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
const right = (word: number, bits: number): number => left(word, 32 - bits);

function sha1(bytes: Uint8Array): ArrayBuffer {
  const message = padded(bytes, 64, 8);
  const state = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476, 0xc3d2e1f0 | 0];
  const words: number[] = [];
  for (let start = 0; start < message.length; start += 64) {
    let [a, b, c, d, e] = state as [number, number, number, number, number];
    for (let round = 0; round < 80; round++) {
      words[round] =
        round < 16
          ? wordAt(message, start + 4 * round)
          : left(words[round - 3]! ^ words[round - 8]! ^ words[round - 14]! ^ words[round - 16]!, 1);
      const mixed =
        round < 20
          ? ((b & c) | (~b & d)) + 0x5a827999
          : round < 40
            ? (b ^ c ^ d) + 0x6ed9eba1
            : round < 60
              ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
              : (b ^ c ^ d) + 0xca62c1d6;
      const next = (left(a, 5) + mixed + e + words[round]!) | 0;
      e = d;
      d = c;
      c = left(b, 30);
      b = a;
      a = next;
    }
    state[0] = (state[0]! + a) | 0;
    state[1] = (state[1]! + b) | 0;
    state[2] = (state[2]! + c) | 0;
    state[3] = (state[3]! + d) | 0;
    state[4] = (state[4]! + e) | 0;
  }
  return wordBytes(state);
}

/** The first primes. Their roots are the constants of SHA-2. */
function primes(count: number): number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; candidate++)
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate);
  return found;
}

/** The first 32 bits of the fraction of a root. */
const fraction = (prime: number, root: number): number => {
  const value = Math.pow(prime, 1 / root);
  return ((value - Math.floor(value)) * 0x1_0000_0000) | 0;
};

function sha256(bytes: Uint8Array): ArrayBuffer {
  const message = padded(bytes, 64, 8);
  const numbers = primes(64);
  const constants = numbers.map((prime) => fraction(prime, 3));
  const state = numbers.slice(0, 8).map((prime) => fraction(prime, 2));
  const words: number[] = [];
  for (let start = 0; start < message.length; start += 64) {
    let [a, b, c, d, e, f, g, h] = state as [number, number, number, number, number, number, number, number];
    for (let round = 0; round < 64; round++) {
      if (round < 16) words[round] = wordAt(message, start + 4 * round);
      else {
        const early = words[round - 15]!;
        const late = words[round - 2]!;
        words[round] =
          (words[round - 16]! +
            (right(early, 7) ^ right(early, 18) ^ (early >>> 3)) +
            words[round - 7]! +
            (right(late, 17) ^ right(late, 19) ^ (late >>> 10))) |
          0;
      }
      const first =
        h + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & f) ^ (~e & g)) + constants[round]! + words[round]!;
      const second = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    const next = [a, b, c, d, e, f, g, h];
    for (let index = 0; index < 8; index++) state[index] = (state[index]! + next[index]!) | 0;
  }
  return wordBytes(state);
}

const MASK = (1n << 64n) - 1n;
const turned = (word: bigint, bits: bigint): bigint => ((word >> bits) | (word << (64n - bits))) & MASK;

/** The first 64 bits of the fraction of a root, by Newton's method on integers. */
function longFraction(prime: number, root: number): bigint {
  const degree = BigInt(root);
  const target = BigInt(prime) << (64n * degree);
  let value = 1n << 68n;
  for (;;) {
    const next = ((degree - 1n) * value + target / value ** (degree - 1n)) / degree;
    if (next >= value) return value & MASK;
    value = next;
  }
}

function sha512(bytes: Uint8Array, firstPrime: number, words: number): ArrayBuffer {
  const message = padded(bytes, 128, 16);
  const numbers = primes(80);
  const constants = numbers.map((prime) => longFraction(prime, 3));
  const state = numbers.slice(firstPrime, firstPrime + 8).map((prime) => longFraction(prime, 2));
  const schedule: bigint[] = [];
  for (let start = 0; start < message.length; start += 128) {
    let [a, b, c, d, e, f, g, h] = state as [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint];
    for (let round = 0; round < 80; round++) {
      if (round < 16) schedule[round] = longWordAt(message, start + 8 * round);
      else {
        const early = schedule[round - 15]!;
        const late = schedule[round - 2]!;
        schedule[round] =
          (schedule[round - 16]! +
            (turned(early, 1n) ^ turned(early, 8n) ^ (early >> 7n)) +
            schedule[round - 7]! +
            (turned(late, 19n) ^ turned(late, 61n) ^ (late >> 6n))) &
          MASK;
      }
      const first =
        h +
        (turned(e, 14n) ^ turned(e, 18n) ^ turned(e, 41n)) +
        ((e & f) ^ ((e ^ MASK) & g)) +
        constants[round]! +
        schedule[round]!;
      const second = (turned(a, 28n) ^ turned(a, 34n) ^ turned(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = (d + first) & MASK;
      d = c;
      c = b;
      b = a;
      a = (first + second) & MASK;
    }
    const next = [a, b, c, d, e, f, g, h];
    for (let index = 0; index < 8; index++) state[index] = (state[index]! + next[index]!) & MASK;
  }
  return wordBytes(state.slice(0, words).flatMap((word) => [Number(word >> 32n), Number(word & 0xffff_ffffn)]));
}

function longWordAt(message: Uint8Array, at: number): bigint {
  return (BigInt(wordAt(message, at) >>> 0) << 32n) | BigInt(wordAt(message, at + 4) >>> 0);
}
