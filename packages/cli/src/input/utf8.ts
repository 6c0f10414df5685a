import { isUtf8 } from 'node:buffer';

/** The length of the valid UTF-8 prefix. `incomplete`: it ends inside a character that may still be completed. */
export interface Utf8Scan {
  readonly validBytes: number;
  readonly incomplete: boolean;
}

/** Well-formed sequences as in the Unicode Standard, table 3-7: no overlong forms, no surrogates. */
export function scanUtf8(bytes: Uint8Array): Utf8Scan {
  if (isUtf8(bytes)) return { validBytes: bytes.length, incomplete: false };
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at] as number;
    const length = sequenceLength(first);
    if (length === 0) return { validBytes: at, incomplete: false };
    for (let offset = 1; offset < length; offset++) {
      const next = bytes[at + offset];
      if (next === undefined) return { validBytes: at, incomplete: true };
      const [low, high] = offset === 1 ? secondByteRange(first) : [0x80, 0xbf];
      if (next < low || next > high) return { validBytes: at, incomplete: false };
    }
    at += length;
  }
  return { validBytes: at, incomplete: false };
}

function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

function secondByteRange(first: number): readonly [number, number] {
  if (first === 0xe0) return [0xa0, 0xbf];
  if (first === 0xed) return [0x80, 0x9f];
  if (first === 0xf0) return [0x90, 0xbf];
  return first === 0xf4 ? [0x80, 0x8f] : [0x80, 0xbf];
}
