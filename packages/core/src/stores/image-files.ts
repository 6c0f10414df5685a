import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import type { ImageStore } from '../protocol/index.js';
import { checkSha256, isSha256 } from './names.js';
import { files, namesIn, readWhole, removeFile, statFile, syncFolder, type StoreFolder } from './store-folder.js';

/** Larger than any sandbox image. A file that decompresses to more is not an image. */
const MAX_IMAGE_BYTES = 2 ** 31 - 1;

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** `images/<sha256>`, compressed. Files appear atomically, so a reader never sees a partial one. */
export class ImageFiles implements ImageStore {
  readonly #folder: StoreFolder;

  constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  async has(sha256: string): Promise<boolean> {
    return (await statFile(this.#path(sha256)))?.isFile() === true;
  }

  async put(sha256: string, bytes: Uint8Array): Promise<void> {
    demandHash(sha256, bytes);
    if ((await this.get(sha256)) !== undefined) return;
    // Images are mostly zeros: the fastest level already leaves little.
    const packed = await pack(bytes, { level: constants.Z_BEST_SPEED });
    const partial = await this.#folder.createPartial(packed, true);
    await this.#folder.within(['images'], () => files.rename(partial, this.#path(sha256)));
    await syncFolder(this.#folder.path('images'));
  }

  async get(sha256: string): Promise<Uint8Array | undefined> {
    const found = await readWhole(this.#path(sha256));
    if (found === undefined) return undefined;
    const bytes = await unpack(found.bytes, { maxOutputLength: MAX_IMAGE_BYTES }).catch(() => undefined);
    return bytes !== undefined && hashOf(bytes) === sha256 ? bytes : undefined;
  }

  async list(): Promise<readonly string[]> {
    return (await namesIn(this.#folder.path('images'))).filter(isSha256);
  }

  async delete(sha256: string): Promise<void> {
    await removeFile(this.#path(sha256));
  }

  #path(sha256: string): string {
    checkSha256(sha256);
    return this.#folder.path('images', sha256);
  }
}

export function demandHash(sha256: string, bytes: Uint8Array): void {
  checkSha256(sha256);
  if (hashOf(bytes) !== sha256) throw new Error(`The bytes do not have the SHA-256 ${sha256}`);
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
