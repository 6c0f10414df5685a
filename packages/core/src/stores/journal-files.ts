import { join } from 'node:path';
import { checksum, readJournalText, type JournalText, type SlotReference } from './journal-text.js';
import { isScriptId } from '../protocol/index.js';
import {
  createFile,
  files,
  namesIn,
  openForAppend,
  readWhole,
  removeFile,
  statFile,
  syncFolder,
  writeWhole,
  type StoreFolder,
} from './store-folder.js';

const SUFFIX = '.jsonl';

/**
 * `journal/<script>.jsonl`, and the script's slot in `claims/<script>/slot-<epoch>-<batch>`. Each new text of the slot
 * is a new file, and the batch of that number refers to it.
 */
export class JournalFiles {
  readonly #folder: StoreFolder;

  constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  get folder(): string {
    return this.#folder.path('journal');
  }

  /** Creates the journal if it is missing. */
  openForAppend(scriptId: string): Promise<number> {
    return this.#folder.within(['journal'], () => openForAppend(this.#path(scriptId)));
  }

  /** Empty if there is no journal. */
  async read(scriptId: string): Promise<{ bytes: Buffer; text: JournalText; changedAtMs: number | undefined }> {
    const found = await readWhole(this.#path(scriptId));
    const bytes = found?.bytes ?? Buffer.alloc(0);
    return { bytes, text: readJournalText(bytes.toString('utf8')), changedAtMs: found?.stat.mtimeMs };
  }

  /** The size in bytes and the time of the last write in ms since 1970; undefined if there is no journal. */
  async size(scriptId: string): Promise<{ bytes: number; changedAtMs: number | undefined }> {
    const stat = await statFile(this.#path(scriptId));
    return stat?.isFile() === true
      ? { bytes: stat.size, changedAtMs: stat.mtimeMs }
      : { bytes: 0, changedAtMs: undefined };
  }

  async scriptIds(): Promise<readonly string[]> {
    return (await namesIn(this.folder))
      .filter((name) => name.endsWith(SUFFIX))
      .map((name) => name.slice(0, -SUFFIX.length))
      .filter(isScriptId);
  }

  async delete(scriptId: string): Promise<void> {
    await removeFile(this.#path(scriptId));
  }

  async putSlot(scriptId: string, name: string, bytes: Uint8Array, flush: boolean): Promise<SlotReference> {
    const path = this.#slotPath(scriptId, name);
    // The file exists if a batch is being retried.
    await removeFile(path);
    const file = await createFile(path);
    try {
      await writeWhole(file, bytes);
      if (flush) await files.fdatasync(file);
    } finally {
      await files.close(file);
    }
    if (flush) await syncFolder(join(path, '..'));
    return { name, bytes: bytes.length, crc: checksum(bytes) };
  }

  /** Undefined if the file is missing or was changed. */
  async readSlot(scriptId: string, { name, bytes, crc }: SlotReference): Promise<string | undefined> {
    const found = (await readWhole(this.#slotPath(scriptId, name)))?.bytes;
    return found?.length === bytes && checksum(found) === crc ? found.toString('utf8') : undefined;
  }

  /** Removes all slots but one. A slot that cannot be removed only uses space. */
  async removeSlots(scriptId: string, but: string | undefined): Promise<void> {
    const names = await namesIn(this.#slotPath(scriptId, ''));
    for (const name of names)
      if (name.startsWith('slot-') && name !== but) await removeFile(this.#slotPath(scriptId, name)).catch(() => {});
  }

  #slotPath(scriptId: string, name: string): string {
    return this.#folder.path('claims', scriptId, name);
  }

  #path(scriptId: string): string {
    return this.#folder.path('journal', `${scriptId}${SUFFIX}`);
  }
}
