import { Buffer, isUtf8 } from 'node:buffer';

/*
 * Paths as texts that lose no byte. A name on Linux can be any bytes; a byte that is not UTF-8 becomes half a character
 * (U+DC80 to U+DCFF), as in Python's `surrogateescape`. Node.js would replace it, and the text would name no file.
 */

const ESCAPED = /[\u{dc80}-\u{dcff}]/u;

/** The text of a name or path. */
export function pathText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const parts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find((size) => at + size <= bytes.length && isUtf8(bytes.subarray(at, at + size)));
    parts.push(
      length === undefined ? String.fromCharCode(0xdc00 + bytes[at]!) : bytes.toString('utf8', at, at + length),
    );
    at += length ?? 1;
  }
  return parts.join('');
}

/** Whether a path has bytes that are not UTF-8. */
export function hasEscapedBytes(path: string): boolean {
  return ESCAPED.test(path);
}

/** The path for a function of `node:fs`. */
export function systemPath(path: string): string | Buffer {
  return hasEscapedBytes(path) ? pathBytes(path) : path;
}

/** The bytes of a path. */
export function pathBytes(path: string): Buffer {
  if (!hasEscapedBytes(path)) return Buffer.from(path);
  const parts = Array.from(path, (character) =>
    ESCAPED.test(character) ? Buffer.from([character.charCodeAt(0) - 0xdc00]) : Buffer.from(character),
  );
  return Buffer.concat(parts);
}
