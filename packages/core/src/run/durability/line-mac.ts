import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
/** Most lines fit. The buffer for a longer text is not kept. */
const ROOM_BYTES = 16_384;

/**
 * HMAC-SHA-256 (RFC 2104) with one key, by two one-shot hashes. An object of `createHmac` for each line takes about
 * twice as long, and leaves a native handle to the garbage collector.
 */
export class LineMac {
  /** The key's inner block, then room for a text. */
  readonly #inner: Buffer;
  /** The key's outer block, then the inner hash. */
  readonly #outer: Buffer;

  /** `key`: at most 64 bytes. */
  constructor(key: Uint8Array) {
    this.#inner = paddedBlock(key, 0x36, ROOM_BYTES);
    this.#outer = paddedBlock(key, 0x5c, HASH_BYTES);
  }

  /** Returns the MAC of the UTF-8 bytes: 43 characters of base64url. */
  mac(text: string): string {
    this.#outer.write(hash('sha256', this.#innerMessage(text), 'binary'), BLOCK_BYTES, 'latin1');
    return hash('sha256', this.#outer, 'base64url');
  }

  #innerMessage(text: string): Buffer {
    // A unit of UTF-16 takes at most three bytes of UTF-8.
    if (text.length * 3 > ROOM_BYTES)
      return Buffer.concat([this.#inner.subarray(0, BLOCK_BYTES), Buffer.from(text, 'utf8')]);
    const end = BLOCK_BYTES + this.#inner.write(text, BLOCK_BYTES, 'utf8');
    return this.#inner.subarray(0, end);
  }
}

function paddedBlock(key: Uint8Array, pad: number, room: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES + room);
  block.set(key);
  for (let at = 0; at < BLOCK_BYTES; at++) block[at]! ^= pad;
  return block;
}
