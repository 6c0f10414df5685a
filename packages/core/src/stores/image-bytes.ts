import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { checkSha256 } from './names.js';

/** The maximum size of an image; sandbox images are smaller. Data that decompresses to more is not an image. */
const MAX_IMAGE_BYTES = 2 ** 31 - 1;

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** Compresses an image. Images are mostly zeros, so even the fastest level compresses them well. */
export function packImage(bytes: Uint8Array): Promise<Uint8Array> {
  return pack(bytes, { level: constants.Z_BEST_SPEED });
}

/** Decompresses an image; undefined if the data does not contain the image with this hash. */
export async function unpackImage(sha256: string, packed: Uint8Array): Promise<Uint8Array | undefined> {
  const bytes = await unpack(packed, { maxOutputLength: MAX_IMAGE_BYTES }).catch(() => undefined);
  return bytes !== undefined && bytesHash(bytes) === sha256 ? bytes : undefined;
}

/**
 * Checks the hash of an image. Throws if the bytes have another hash. Throws a `ToolscriptUsageError` for a malformed
 * hash.
 */
export function demandHash(sha256: string, bytes: Uint8Array): void {
  checkSha256(sha256);
  if (bytesHash(bytes) !== sha256)
    throw new Error(`The bytes do not have the SHA-256 ${sha256}. Pass the hash of these bytes`);
}

function bytesHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
