import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isScriptId } from '@toolscript/core/internal';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure, systemCode } from '../failure.js';
import { sha256 } from './content-hash.js';
import { EntryState } from './entry-state.js';
import { makePrivateFolder } from './state-folder.js';

/*
 * Records the changes that scripts make to files, so that the changes can be undone. Only the user has access to the
 * records.
 *
 * `<folder>/<script>/<number>-<random>.open`: the change is in progress; its journal (change-journal.ts) decides
 * whether the record stays. `….done`: the change was made. `<folder>/<script>/contents/<sha256>`: the old content of a
 * file.
 *
 * The record is complete before the first file changes. It is deleted if the change fails.
 */

export interface ChangeRecordOptions {
  /** A folder outside every workspace. Processes that undo each other's changes must share it. */
  readonly folder: string;
  /** Maximum size of an old file that is stored. A change to a larger file cannot be undone. Default 10 MiB. */
  readonly maxFileBytes?: number | undefined;
  /** Maximum bytes of the old files of one script. Default 100 MiB. */
  readonly maxScriptBytes?: number | undefined;
}

const DEFAULT_FILE_BYTES = 10 * 1024 * 1024;
const DEFAULT_SCRIPT_BYTES = 100 * 1024 * 1024;

/** The path of a record without the file extension. */
const RECORD_PATH = /[\\/][\w-]{1,128}[\\/]\d{8}-[\w-]{12}$/;
const RECORD_NAME = /^(\d{8}-[\w-]{12})\.(open|done)$/;

const RecordedFile = z.object({
  /** The path with symbolic links resolved. */
  path: z.string(),
  before: EntryState,
  /** Whether the old content is stored. Always false for entries that are not files. */
  isStored: z.boolean(),
  after: EntryState,
});
export type RecordedFile = z.infer<typeof RecordedFile>;

const ChangeRecord = z.object({
  version: z.literal(1),
  /**
   * `change`: a call of the script changed files. `undo` reverts the changes in `covers`, and `redo` makes them again.
   */
  kind: z.enum(['change', 'undo', 'redo']),
  callId: z.string().optional(),
  covers: z.array(z.string()),
  atMs: z.number(),
  files: z.array(RecordedFile),
  /** The folders that the change created, deepest first. */
  madeFolders: z.array(z.string()),
  /** The effects of the call that the record lacks, in words for the user. */
  gap: z.string().optional(),
});
type ChangeRecord = z.infer<typeof ChangeRecord>;

export interface NamedRecord extends ChangeRecord {
  readonly name: string;
  /** False: the process has not completed the change yet. */
  readonly isDone: boolean;
}

/** The cause of a change, as the record states it. */
export interface RecordCause {
  readonly scriptId: string;
  readonly kind: ChangeRecord['kind'];
  readonly callId?: string | undefined;
  readonly covers?: readonly string[] | undefined;
}

export class ChangeRecords {
  readonly folder: string;
  readonly maxFileBytes: number;
  readonly maxScriptBytes: number;

  constructor(options: ChangeRecordOptions) {
    const { folder, maxFileBytes = DEFAULT_FILE_BYTES, maxScriptBytes = DEFAULT_SCRIPT_BYTES } = options;
    this.folder = folder;
    this.maxFileBytes = maxFileBytes;
    this.maxScriptBytes = maxScriptBytes;
  }

  /** Chooses the name of the next record, without writing it. */
  async reserve(cause: RecordCause): Promise<PendingRecord> {
    const folder = this.scriptFolder(cause.scriptId);
    try {
      if (!makePrivateFolder(this.folder)) throw new Error('the folder is not private to this user');
      await mkdir(join(folder, 'contents'), { recursive: true, mode: 0o700 });
      const numbers = (await folderNames(folder)).map((name) => Number(RECORD_NAME.exec(name)?.[1]?.slice(0, 8) ?? 0));
      const number = String(Math.max(0, ...numbers) + 1).padStart(8, '0');
      const path = join(folder, `${number}-${randomBytes(9).toString('base64url')}`);
      return new PendingRecord(path, cause, { file: this.maxFileBytes, script: this.maxScriptBytes });
    } catch (error) {
      throw recordFailure(error);
    }
  }

  /** The records of a script, oldest first. Throws a ToolCallError if a record is damaged. */
  async read(scriptId: string): Promise<NamedRecord[]> {
    const folder = this.scriptFolder(scriptId);
    const records: NamedRecord[] = [];
    for (const file of (await folderNames(folder)).toSorted()) {
      const [, name, state] = RECORD_NAME.exec(file) ?? [];
      if (name === undefined) continue;
      const text = await readIfThere(join(folder, file));
      // Another process has just completed or deleted the record, so all records are read again.
      if (text === undefined) return this.read(scriptId);
      records.push({ ...parsedRecord(text), name, isDone: state === 'done' });
    }
    return records;
  }

  /** The stored old content of a file. Throws a ToolCallError if it is missing or damaged. */
  async content(scriptId: string, hash: string): Promise<Buffer> {
    const bytes = await readFile(join(this.scriptFolder(scriptId), 'contents', hash)).catch(() => undefined);
    if (bytes === undefined || sha256(bytes) !== hash)
      throw failure(
        'io',
        'The stored content of a file is missing or damaged, so the changes cannot be undone. Restore the files by hand.',
      );
    return bytes;
  }

  /** Deletes the records of a script, whose changes then cannot be undone. Idempotent. */
  async delete(scriptId: string): Promise<void> {
    await rm(this.scriptFolder(scriptId), { recursive: true, force: true });
  }

  /** The folder of a script's records; it may not exist. */
  scriptFolder(scriptId: string): string {
    if (!isScriptId(scriptId))
      throw new ToolscriptUsageError('SCRIPT_ID_INVALID', { scriptId: JSON.stringify(scriptId) });
    return join(this.folder, scriptId);
  }
}

/** The record of a change that is being made. */
export class PendingRecord {
  /** The path without the file extension. */
  readonly path: string;
  readonly #cause: RecordCause;
  #storedBytes: number | undefined;
  readonly #max: { readonly file: number; readonly script: number };

  constructor(path: string, cause: RecordCause, max: { file: number; script: number }) {
    this.path = path;
    this.#cause = cause;
    this.#max = max;
  }

  /** Maximum size of an old file that is stored. */
  get maxFileBytes(): number {
    return this.#max.file;
  }

  /** Stores the old content of a file. Returns false if the contents of the script would exceed their maximum size. */
  async store(content: Buffer): Promise<boolean> {
    try {
      this.#storedBytes ??= await bytesIn(this.#contents);
      const path = join(this.#contents, sha256(content));
      if ((await storedFileSize(path)) === content.length) return true;
      if (this.#storedBytes + content.length > this.#max.script) return false;
      const temporary = `${path}.${randomBytes(9).toString('base64url')}`;
      await writeFile(temporary, content, { flag: 'wx', mode: 0o600 });
      await rename(temporary, path);
      this.#storedBytes += content.length;
      return true;
    } catch (error) {
      throw recordFailure(error);
    }
  }

  /** Writes the record. The caller stores the old files first. */
  write(files: readonly RecordedFile[], madeFolders: readonly string[]): Promise<void> {
    return this.#write({ files: [...files], madeFolders: [...madeFolders] }, 'open');
  }

  /** Writes the record of a change that was made already. */
  writeDone(change: Pick<ChangeRecord, 'files' | 'madeFolders' | 'gap'>): Promise<void> {
    return this.#write(change, 'done');
  }

  async #write(change: Pick<ChangeRecord, 'files' | 'madeFolders' | 'gap'>, state: 'open' | 'done'): Promise<void> {
    const { kind, callId, covers = [] } = this.#cause;
    const record: ChangeRecord = { version: 1, atMs: Date.now(), kind, callId, covers: [...covers], ...change };
    try {
      await writeFile(`${this.path}.new`, JSON.stringify(record), { flag: 'wx', mode: 0o600 });
      await rename(`${this.path}.new`, `${this.path}.${state}`);
    } catch (error) {
      throw recordFailure(error);
    }
  }

  async markDone(): Promise<void> {
    await rename(`${this.path}.open`, `${this.path}.done`).catch((error: unknown) => {
      throw recordFailure(error);
    });
  }

  discard(): Promise<void> {
    return settleRecord(this.path, false);
  }

  get #contents(): string {
    return join(dirname(this.path), 'contents');
  }
}

/**
 * Completes or deletes the record of a change whose process was killed. `path` comes from a journal, so the function
 * checks it.
 */
export async function settleRecord(path: string, isMade: boolean): Promise<void> {
  // defence: only-records-are-settled
  if (!RECORD_PATH.test(path)) return;
  if (isMade) return rename(`${path}.open`, `${path}.done`).catch(unlessMissing);
  for (const ending of ['new', 'open', 'done']) await unlink(`${path}.${ending}`).catch(unlessMissing);
}

function parsedRecord(text: string): ChangeRecord {
  try {
    return ChangeRecord.parse(JSON.parse(text));
  } catch {
    throw failure(
      'io',
      'The record of a change of this script is damaged, so its changes cannot be undone. Restore the files by hand.',
    );
  }
}

async function bytesIn(folder: string): Promise<number> {
  let sum = 0;
  for (const name of await folderNames(folder)) sum += (await storedFileSize(join(folder, name))) ?? 0;
  return sum;
}

/** The size of a file; undefined if the file does not exist. */
async function storedFileSize(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

async function folderNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function unlessMissing(error: unknown): void {
  if (systemCode(error) !== 'ENOENT') throw error;
}

function recordFailure(error: unknown): Error {
  const why = systemCode(error) ?? (error instanceof Error ? error.message : String(error));
  return failure(
    'io',
    `The old files could not be stored for undo (${why}), so nothing was changed. Free disk space and check the permissions of the data folder.`,
  );
}
