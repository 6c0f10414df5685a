import { closeSync, fstatSync, lstatSync, unlinkSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { JournalFullError } from '../protocol/index.js';
import { readJournalText, writeBatch, writeFence, type JournalText } from './journal-text.js';
import { isScriptId } from './names.js';
import {
  hasCode,
  namesIn,
  openForAppend,
  openForReading,
  syncFile,
  syncFolder,
  writeWhole,
  type StoreFolder,
} from './store-folder.js';

const SUFFIX = '.jsonl';

/** How much of a journal's end is read to find its last line; doubled until it is found. */
const TAIL_BYTES = 65_536;

/**
 * `journal/<script>.jsonl`. Each append is one write to a file opened for appending, which the system puts in one
 * piece after what is there. Nothing is ever cut off or overwritten: between looking and cutting, somebody else may
 * have written.
 */
export class JournalFiles {
  readonly #folder: StoreFolder;
  readonly #maxScriptBytes: number;

  constructor(folder: StoreFolder, maxScriptBytes: number) {
    this.#folder = folder;
    this.#maxScriptBytes = maxScriptBytes;
  }

  append(scriptId: string, epoch: number, lines: readonly string[]): void {
    closeSync(this.#write(scriptId, writeBatch(epoch, lines), this.#maxScriptBytes));
  }

  /** The lines are written when it returns, and survive a power cut when the promise is done. */
  appendAndFlush(scriptId: string, epoch: number, lines: readonly string[]): Promise<void> {
    return this.#flush(this.#write(scriptId, writeBatch(epoch, lines), this.#maxScriptBytes));
  }

  /** From here on, what an older epoch still appends does not count. */
  fence(scriptId: string, epoch: number): void {
    closeSync(this.#write(scriptId, writeFence(epoch), Number.POSITIVE_INFINITY));
  }

  /** Nothing where there is no journal. */
  async read(scriptId: string): Promise<JournalText> {
    const file = await openForReading(this.#path(scriptId));
    if (file === undefined) return { lines: [], newestEpoch: 0 };
    try {
      return readJournalText(await file.readFile('utf8'));
    } finally {
      await file.close();
    }
  }

  /** `newestEpoch`: of the claims. Empty where there is no whole line. */
  async lastLine(scriptId: string, newestEpoch: number): Promise<string> {
    const file = await openForReading(this.#path(scriptId));
    if (file === undefined) return '';
    try {
      return await findLastLine(file, newestEpoch);
    } finally {
      await file.close();
    }
  }

  scriptIds(): readonly string[] {
    return namesIn(this.#folder.path('journal'))
      .filter((name) => name.endsWith(SUFFIX))
      .map((name) => name.slice(0, -SUFFIX.length))
      .filter((scriptId) => isScriptId(scriptId) && this.size(scriptId) !== undefined);
  }

  /** Undefined where there is no journal. */
  size(scriptId: string): { bytes: number; changedAtMs: number } | undefined {
    const stat = lstatSync(this.#path(scriptId), { throwIfNoEntry: false });
    return stat?.isFile() === true ? { bytes: stat.size, changedAtMs: stat.mtimeMs } : undefined;
  }

  delete(scriptId: string): void {
    try {
      unlinkSync(this.#path(scriptId));
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  }

  /** Gives back the open file. */
  #write(scriptId: string, text: string, mostBytes: number): number {
    const file = this.#open(scriptId);
    try {
      const bytes = Buffer.from(text);
      const stat = fstatSync(file);
      if (!stat.isFile()) throw new Error(`${this.#path(scriptId)} is no regular file`);
      if (stat.size + bytes.length > mostBytes)
        throw new JournalFullError(`The journal of ${scriptId} would have more than ${mostBytes} bytes`);
      writeWhole(file, bytes);
      return file;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  #open(scriptId: string): number {
    const path = this.#path(scriptId);
    const file = openForAppend(path);
    if (file !== undefined) return file;
    this.#folder.makeFolder('journal');
    this.#folder.place(path, '');
    const created = openForAppend(path);
    if (created === undefined) throw new Error(`The journal of ${scriptId} is being deleted`);
    return created;
  }

  async #flush(file: number): Promise<void> {
    try {
      await syncFile(file);
      await syncFolder(this.#folder.path('journal'));
    } finally {
      closeSync(file);
    }
  }

  #path(scriptId: string): string {
    return this.#folder.path('journal', `${scriptId}${SUFFIX}`);
  }
}

/** A part whose newest epoch is not the newest may end in lines that do not count for what stands above it. */
async function findLastLine(file: FileHandle, newestEpoch: number): Promise<string> {
  const { size } = await file.stat();
  for (let bytes = TAIL_BYTES; ; bytes *= 2) {
    const tail = readJournalText(await readTail(file, size, bytes));
    const isKnown = tail.lines.length > 0 && tail.newestEpoch >= newestEpoch;
    if (isKnown || bytes >= size) return tail.lines.at(-1) ?? '';
  }
}

/** From the first line that begins in the last `bytes`. */
async function readTail(file: FileHandle, size: number, bytes: number): Promise<string> {
  const start = Math.max(0, size - bytes);
  const buffer = Buffer.alloc(size - start);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
  const text = buffer.toString('utf8', 0, bytesRead);
  return start === 0 ? text : text.slice(text.indexOf('\n') + 1);
}
