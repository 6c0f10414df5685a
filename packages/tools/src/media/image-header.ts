/*
 * Reads the type and size of an image from its first bytes, without decoding it. Sources: PNG third edition (5.2,
 * 11.2.1), GIF89a (17, 18), ITU-T T.81 (B.1.1.3, B.2.2), RFC 9649 (WebP, 2.4 to 2.7).
 */

type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

export interface ImageHeader {
  readonly mediaType: ImageMediaType;
  /** Pixels; 0 by 0 if the header is damaged or truncated. */
  readonly width: number;
  readonly height: number;
}

type Size = Pick<ImageHeader, 'width' | 'height'>;

/** Maximum markers and fill bytes before the frame header of a JPEG image. Cameras and editors write fewer than 200. */
const MAX_MARKERS = 4_096;
const UNKNOWN_SIZE: Size = { width: 0, height: 0 };

/** The header of a PNG, JPEG, GIF or WebP image; undefined for anything else. */
export function imageHeader(bytes: Buffer): ImageHeader | undefined {
  const reader = READERS.find(({ signature }) => signature(bytes));
  return reader && { mediaType: reader.mediaType, ...reader.size(bytes) };
}

interface Reader {
  readonly mediaType: ImageMediaType;
  readonly signature: (bytes: Buffer) => boolean;
  readonly size: (bytes: Buffer) => Size;
}

const READERS: readonly Reader[] = [
  { mediaType: 'image/png', signature: (bytes) => textAt(bytes, 0, '\x89PNG\r\n\x1a\n'), size: pngSize },
  { mediaType: 'image/jpeg', signature: (bytes) => textAt(bytes, 0, '\xff\xd8\xff'), size: jpegSize },
  { mediaType: 'image/gif', signature: isGif, size: gifSize },
  { mediaType: 'image/webp', signature: isWebp, size: webpSize },
];

function pngSize(bytes: Buffer): Size {
  if (bytes.length < 24 || !textAt(bytes, 12, 'IHDR')) return UNKNOWN_SIZE;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function isGif(bytes: Buffer): boolean {
  return textAt(bytes, 0, 'GIF87a') || textAt(bytes, 0, 'GIF89a');
}

function gifSize(bytes: Buffer): Size {
  if (bytes.length < 10) return UNKNOWN_SIZE;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Walks from marker to marker to the first frame header. */
function jpegSize(bytes: Buffer): Size {
  let at = 2;
  for (let count = 0; at + 9 <= bytes.length && bytes[at] === 0xff; count += 1) {
    // defence: jpeg-markers-are-bounded
    if (count === MAX_MARKERS) break;
    const marker = bytes[at + 1]!;
    if (isFrameHeader(marker)) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    // Any number of fill bytes may precede a marker, and some markers have no length.
    if (marker === 0xff) at += 1;
    else if (hasNoLength(marker)) at += 2;
    else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return UNKNOWN_SIZE;
}

/** SOF0 to SOF15 without DHT, JPG and DAC, which share their range. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function hasNoLength(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

function isWebp(bytes: Buffer): boolean {
  return textAt(bytes, 0, 'RIFF') && textAt(bytes, 8, 'WEBP');
}

/** The size of a lossy (`VP8 `), lossless (`VP8L`) or extended (`VP8X`) image. */
function webpSize(bytes: Buffer): Size {
  if (bytes.length < 30) return UNKNOWN_SIZE;
  if (textAt(bytes, 12, 'VP8X')) return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (textAt(bytes, 12, 'VP8L') && bytes[20] === 0x2f) {
    const packed = bytes.readUInt32LE(21);
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
  }
  if (textAt(bytes, 12, 'VP8 ') && textAt(bytes, 23, '\x9d\x01\x2a'))
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  return UNKNOWN_SIZE;
}

function textAt(bytes: Buffer, at: number, text: string): boolean {
  return bytes.toString('latin1', at, at + text.length) === text;
}
