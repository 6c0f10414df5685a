import type { ImageStore } from '../protocol/index.js';
import { demandHash, packImage, unpackImage } from './image-bytes.js';
import { checkSha256, isSha256 } from './names.js';
import { files, namesIn, readWhole, removeFile, statFile, syncFolder, type StoreFolder } from './store-folder.js';

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
    const packed = await packImage(bytes);
    const partial = await this.#folder.createPartial(packed, true);
    await this.#folder.within(['images'], () => files.rename(partial, this.#path(sha256)));
    await syncFolder(this.#folder.path('images'));
  }

  async get(sha256: string): Promise<Uint8Array | undefined> {
    const found = await readWhole(this.#path(sha256));
    return found && unpackImage(sha256, found.bytes);
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
