import { createHash } from 'node:crypto';
import { closeSync, lstatSync, writeFile } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import type { ImageStore } from '../protocol/index.js';
import { checkSha256, isSha256 } from './names.js';
import { hasCode, namesIn, openForReading, syncFile, syncFolder, type StoreFolder } from './store-folder.js';

/** More than any sandbox can have; a file that unpacks to more is none of ours. */
const MOST_IMAGE_BYTES = 2 ** 31 - 1;

const fill = promisify(writeFile);
const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** `images/<sha256>`, compressed. A file with the name of an image is never half of one. */
export class ImageFiles implements ImageStore {
  readonly #folder: StoreFolder;

  constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  async has(sha256: string): Promise<boolean> {
    return lstatSync(this.#path(sha256), { throwIfNoEntry: false })?.isFile() === true;
  }

  async put(sha256: string, bytes: Uint8Array): Promise<void> {
    demandHash(sha256, bytes);
    if ((await this.get(sha256)) !== undefined) return;
    // Images are mostly zeros: the fastest level already leaves little.
    const packed = await pack(bytes, { level: constants.Z_BEST_SPEED });
    this.#folder.makeFolder('images');
    const partial = this.#folder.createPartial();
    try {
      await fill(partial.file, packed);
      await syncFile(partial.file);
    } finally {
      closeSync(partial.file);
    }
    await rename(partial.path, this.#path(sha256));
    await syncFolder(this.#folder.path('images'));
  }

  async get(sha256: string): Promise<Uint8Array | undefined> {
    const file = await openForReading(this.#path(sha256));
    if (file === undefined) return undefined;
    try {
      const bytes = await unpack(await file.readFile(), { maxOutputLength: MOST_IMAGE_BYTES }).catch(() => undefined);
      return bytes !== undefined && hashOf(bytes) === sha256 ? bytes : undefined;
    } finally {
      await file.close();
    }
  }

  async list(): Promise<readonly string[]> {
    return namesIn(this.#folder.path('images')).filter(isSha256);
  }

  async delete(sha256: string): Promise<void> {
    try {
      await unlink(this.#path(sha256));
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
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
