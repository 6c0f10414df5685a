import { StringDecoder } from 'node:string_decoder';
import { jsonBytes } from '../files/text.js';

/** Keeps the first and the last bytes of a stream. Counts and drops the bytes between them. */
export class HeadAndTail {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;

  /** Keeps `limit` bytes: one half at each end. */
  constructor(limit: number) {
    this.#headLimit = Math.ceil(limit / 2);
    this.#tailLimit = Math.floor(limit / 2);
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#headLimit - this.#headBytes;
    if (room > 0) {
      const taken = chunk.subarray(0, room);
      this.#head.push(taken);
      this.#headBytes += taken.length;
    }
    if (chunk.length > room) this.#pushTail(chunk.subarray(Math.max(0, room)));
  }

  /** The text. If bytes were dropped, a line in their place states their number, and no character is cut in two. */
  finish(): { text: string; truncated: boolean } {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail).subarray(-this.#tailLimit || this.#tailBytes);
    const kept = this.#tailLimit === 0 ? Buffer.alloc(0) : tail;
    const omitted = this.#total - head.length - kept.length;
    if (omitted === 0) return { text: Buffer.concat([head, kept]).toString('utf8'), truncated: false };
    const before = new StringDecoder('utf8').write(head);
    const after = fromWholeCharacter(kept).toString('utf8');
    const missing = this.#total - Buffer.byteLength(before) - Buffer.byteLength(after);
    return { text: `${before}${omittedMark(missing > 0 ? missing : omitted)}${after}`, truncated: true };
  }

  #pushTail(chunk: Buffer): void {
    this.#tail.push(chunk);
    this.#tailBytes += chunk.length;
    // The tail may grow to twice its limit plus 64 KiB before it is trimmed, which avoids a copy for each small chunk.
    if (this.#tailBytes <= 2 * this.#tailLimit + 64 * 1024) return;
    const kept =
      this.#tailLimit === 0 ? Buffer.alloc(0) : Buffer.from(Buffer.concat(this.#tail).subarray(-this.#tailLimit));
    this.#tail = [kept];
    this.#tailBytes = kept.length;
  }
}

/**
 * Removes the middle of a text until its JSON has at most `limit` bytes. Control characters and invalid bytes take
 * several times their size in JSON.
 */
export function fitJson(text: string, limit: number): { text: string; truncated: boolean } {
  let fitted = text;
  let keep = text.length;
  while (jsonBytes(fitted) > limit && keep > 0) {
    keep = Math.floor(keep * Math.min(0.9, limit / jsonBytes(fitted)));
    const half = Math.floor(keep / 2);
    const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '');
    const tail = half === 0 ? '' : text.slice(-half).replace(/^[\uDC00-\uDFFF]/, '');
    fitted = `${head}${omittedMark(Buffer.byteLength(text) - Buffer.byteLength(head) - Buffer.byteLength(tail))}${tail}`;
  }
  return { text: fitted, truncated: fitted !== text };
}

function omittedMark(bytes: number): string {
  return `\n… ${bytes} bytes omitted …\n`;
}

function fromWholeCharacter(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length && start < 3 && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
