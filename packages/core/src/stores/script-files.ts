import { join } from 'node:path';
import { StaleEpochError, type Claim } from '../protocol/index.js';
import {
  isHeld,
  isOfThisBoot,
  ownIdentity,
  parseIdentity,
  type ProcessIdentity,
} from '../durable-files/process-identity.js';
import {
  files,
  hasCode,
  folderNames,
  openForWriting,
  readWhole,
  removeFile,
  syncFolder,
  writeWhole,
  createFile,
  openForAppend,
  statFile,
  type PrivateFolder,
} from '../durable-files/private-folder.js';
import { checksum, readJournalText, type JournalText, type SlotReference } from './journal-text.js';

/** The lease of a claim whose file contains no valid lease. */
const UNREADABLE_LEASE_MS = 30_000;

const COUNT_DIGITS = 12;
const FLUSHED_AT = COUNT_DIGITS + 1;
const FLAG_AT = 2 * (COUNT_DIGITS + 1);
const HEAD = /^(\d{12}) (\d{12}) ([hr])\n/u;

/** The content of a claim's file. */
interface ClaimFile {
  /** Batches of the epoch in the journal, and how many of them were flushed. Undefined if the file is damaged. */
  readonly counts: EpochCounts | undefined;
  readonly isReleased: boolean;
  readonly owner: string;
  readonly leaseMs: number;
  readonly holder: ProcessIdentity | undefined;
  /** The time of the holder's last write, in ms since 1970. */
  readonly touchedAtMs: number;
}

export interface EpochCounts {
  readonly appended: number;
  readonly flushed: number;
  /** Whether the holder wrote on this machine after its last start. True if the holder is unknown. */
  readonly isOfThisBoot: boolean;
}

/**
 * The file `claims/<script>/<epoch>` names the holder of the epoch. Only one process can create it with link(2). The
 * file stays until the script is deleted, so a process finds the newest epoch in the list of names. The first line of
 * the file has a fixed length and is updated in place:
 *
 *     000000000012 000000000010 h      batches of the epoch in the journal, flushed ones, "h"eld or "r"eleased
 *     {"owner":"…","leaseMs":30000,…}  the holder
 *
 * The counts reveal a lost journal tail. The file's modification time is the time of the holder's last write, such as a
 * renewal.
 */
export class ClaimFiles {
  readonly #folder: PrivateFolder;
  readonly #knowsProcesses: boolean;
  /** Claims that this process released although it could not write their files. */
  readonly #releasedClaims = new Set<string>();

  /** `knowsProcesses`: whether to ask the operating system if a holder is alive. */
  constructor(folder: PrivateFolder, knowsProcesses: boolean) {
    this.#folder = folder;
    this.#knowsProcesses = knowsProcesses;
  }

  /** The newest epoch of a script; 0 if there is no claim. */
  async newestEpoch(scriptId: string): Promise<number> {
    return (await this.#epochs(scriptId)).reduce((newest, epoch) => Math.max(newest, epoch), 0);
  }

  async claim(scriptId: string, epoch: number): Promise<Claim> {
    const file = await this.#read(scriptId, epoch);
    return {
      epoch,
      isHeld: file !== undefined && this.#isHeld(scriptId, epoch, file),
      owner: file?.owner ?? '',
      expiresAtMs: file === undefined ? 0 : file.touchedAtMs + file.leaseMs,
    };
  }

  /** Creates the claim of an epoch. Returns the open file; undefined if the epoch already has a claim. */
  async create(scriptId: string, epoch: number, owner: string, leaseMs: number): Promise<number | undefined> {
    const file = await this.#create(scriptId, epoch, JSON.stringify({ owner, leaseMs, ...ownIdentity() }));
    if (file === undefined) return undefined;
    try {
      // An epoch after the first must survive a power failure, because the journal refers to it.
      if (epoch > 1) await syncFolder(this.#path(scriptId));
      return file;
    } catch (error) {
      await files.close(file);
      await this.release(scriptId, epoch).catch(() => {});
      throw error;
    }
  }

  /** Creates the complete file atomically. Returns undefined if the file already exists. */
  async #create(scriptId: string, epoch: number, holder: string): Promise<number | undefined> {
    const { path: partial, file } = await this.#folder.openPartial();
    try {
      await writeWhole(file, claimHead(0, 0) + holder);
      await this.#folder.within(['claims', scriptId], () => files.link(partial, this.#path(scriptId, `${epoch}`)));
      return file;
    } catch (error) {
      await files.close(file);
      if (hasCode(error, 'EEXIST')) return undefined;
      throw error;
    } finally {
      await removeFile(partial).catch(() => {});
    }
  }

  /** Opens the file for `noteAppended` and `noteFlushed`. Throws a `StaleEpochError` unless the epoch is the newest. */
  async openCurrent(scriptId: string, epoch: number): Promise<number> {
    const file = await openForWriting(this.#path(scriptId, `${epoch}`));
    try {
      if (file === undefined) throw stale(scriptId, epoch);
      await this.demandCurrent(scriptId, epoch);
      return file;
    } catch (error) {
      if (file !== undefined) await files.close(file);
      throw error;
    }
  }

  /** Writes the count in place, which needs no disk space. */
  async noteAppended(file: number, appended: number): Promise<void> {
    await writeWhole(file, digits(appended), 0);
  }

  async noteFlushed(file: number, flushed: number): Promise<void> {
    await writeWhole(file, digits(flushed), FLUSHED_AT);
  }

  /** Renews the lease. Returns false unless the epoch is the newest. */
  async renew(scriptId: string, epoch: number): Promise<boolean> {
    if ((await this.newestEpoch(scriptId)) !== epoch) return false;
    return this.#onFile(scriptId, epoch, async (file) => {
      const now = Date.now() / 1_000;
      await files.futimes(file, now, now);
    });
  }

  /**
   * Releases the claim. The write needs no disk space. If it fails, this process still remembers the release. `open`:
   * the claim's file, if it is open.
   */
  async release(scriptId: string, epoch: number, open?: number): Promise<void> {
    const key = `${scriptId}/${epoch}`;
    const writeReleased = (file: number) => writeWhole(file, 'r', FLAG_AT);
    this.#releasedClaims.add(key);
    if (open === undefined) await this.#onFile(scriptId, epoch, writeReleased);
    else await writeReleased(open);
    this.#releasedClaims.delete(key);
  }

  async demandCurrent(scriptId: string, epoch: number): Promise<void> {
    if ((await this.newestEpoch(scriptId)) !== epoch) throw stale(scriptId, epoch);
  }

  /** The counts by epoch, for the epochs that have counts. */
  async counts(scriptId: string): Promise<ReadonlyMap<number, EpochCounts>> {
    const found = new Map<number, EpochCounts>();
    for (const epoch of await this.#epochs(scriptId)) {
      const counts = (await this.#read(scriptId, epoch))?.counts;
      if (counts !== undefined) found.set(epoch, counts);
    }
    return found;
  }

  /**
   * The time of the holder's last write to the claim of an epoch, in ms since 1970; undefined if there is no such
   * claim.
   */
  async changedAtMs(scriptId: string, epoch: number): Promise<number | undefined> {
    return (await this.#read(scriptId, epoch))?.touchedAtMs;
  }

  /** Deletes all epochs at once, so that a holder finds either its own epoch or none. */
  async delete(scriptId: string): Promise<void> {
    if ((await folderNames(this.#path(scriptId))).length === 0) return;
    const partial = await this.#folder.partialPath();
    try {
      await this.#folder.within(['partial'], () => files.rename(this.#path(scriptId), partial));
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
    await files.rm(partial, { recursive: true, force: true });
  }

  async #epochs(scriptId: string): Promise<readonly number[]> {
    const names = await folderNames(this.#path(scriptId));
    return names.filter((name) => /^[1-9]\d{0,15}$/u.test(name)).map(Number);
  }

  #isHeld(scriptId: string, epoch: number, file: ClaimFile): boolean {
    if (file.isReleased || this.#releasedClaims.has(`${scriptId}/${epoch}`)) return false;
    return isHeld(this.#knowsProcesses ? file.holder : undefined, file.touchedAtMs, file.leaseMs);
  }

  /** Reads the file of a claim; undefined if there is none. */
  async #read(scriptId: string, epoch: number): Promise<ClaimFile | undefined> {
    const found = await readWhole(this.#path(scriptId, `${epoch}`));
    if (found === undefined) return undefined;
    const text = found.bytes.toString('utf8');
    const [head = '', appended, flushed, flag] = HEAD.exec(text) ?? [];
    const rest = text.slice(head.length);
    const holder = parseIdentity(rest);
    return {
      counts:
        appended === undefined
          ? undefined
          : {
              appended: Number(appended),
              flushed: Number(flushed),
              isOfThisBoot: holder === undefined || isOfThisBoot(holder),
            },
      isReleased: flag === 'r',
      ...readTerms(rest),
      holder,
      touchedAtMs: found.stat.mtimeMs,
    };
  }

  /** Runs `act` on the file of a claim. Returns false if there is no such file. */
  async #onFile(scriptId: string, epoch: number, act: (file: number) => Promise<void>): Promise<boolean> {
    const file = await openForWriting(this.#path(scriptId, `${epoch}`));
    if (file === undefined) return false;
    try {
      await act(file);
      return true;
    } finally {
      await files.close(file);
    }
  }

  #path(scriptId: string, ...names: string[]): string {
    return this.#folder.path('claims', scriptId, ...names);
  }
}

export function stale(scriptId: string, epoch: number): StaleEpochError {
  return new StaleEpochError(
    `Epoch ${epoch} of ${scriptId} is stale: another process claimed or deleted the script. Claim it again before you write`,
  );
}

function claimHead(appended: number, flushed: number): string {
  return `${digits(appended)} ${digits(flushed)} h\n`;
}

function digits(count: number): string {
  return String(count).padStart(COUNT_DIGITS, '0');
}

function readTerms(json: string): { owner: string; leaseMs: number } {
  try {
    const { owner, leaseMs } = JSON.parse(json) as { owner?: unknown; leaseMs?: unknown };
    const isLease = typeof leaseMs === 'number' && leaseMs > 0;
    return { owner: typeof owner === 'string' ? owner : '', leaseMs: isLease ? leaseMs : UNREADABLE_LEASE_MS };
  } catch {
    return { owner: '', leaseMs: UNREADABLE_LEASE_MS };
  }
}

const SUFFIX = '.jsonl';

/**
 * Reads and writes the journal `journal/<script>.jsonl`, and the script's slot `claims/<script>/slot-<epoch>-<batch>`.
 * Each new text of the slot is a new file; the batch named in the file's name refers to the file.
 */
export class JournalFiles {
  readonly #folder: PrivateFolder;

  constructor(folder: PrivateFolder) {
    this.#folder = folder;
  }

  get folder(): string {
    return this.#folder.path('journal');
  }

  /** Opens the journal for appends, and creates it if it is missing. */
  openForAppend(scriptId: string): Promise<number> {
    return this.#folder.within(['journal'], () => openForAppend(this.#path(scriptId)));
  }

  /** Reads the journal; the content is empty if there is none. */
  async read(scriptId: string): Promise<{ bytes: Buffer; text: JournalText; changedAtMs: number | undefined }> {
    const found = await readWhole(this.#path(scriptId));
    const bytes = found?.bytes ?? Buffer.alloc(0);
    return { bytes, text: readJournalText(bytes.toString('utf8')), changedAtMs: found?.stat.mtimeMs };
  }

  /** The size in bytes and the time of the last write in ms since 1970. Without a journal: 0 and undefined. */
  async size(scriptId: string): Promise<{ bytes: number; changedAtMs: number | undefined }> {
    const stat = await statFile(this.#path(scriptId));
    return stat?.isFile() === true
      ? { bytes: stat.size, changedAtMs: stat.mtimeMs }
      : { bytes: 0, changedAtMs: undefined };
  }

  async delete(scriptId: string): Promise<void> {
    await removeFile(this.#path(scriptId));
  }

  async putSlot(scriptId: string, name: string, bytes: Uint8Array, flush: boolean): Promise<SlotReference> {
    const path = this.#slotPath(scriptId, name);
    // The file already exists if an earlier attempt at the same batch created it.
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

  /** The text of a slot; undefined if its file is missing or was changed. */
  async readSlot(scriptId: string, { name, bytes, crc }: SlotReference): Promise<string | undefined> {
    const found = (await readWhole(this.#slotPath(scriptId, name)))?.bytes;
    return found?.length === bytes && checksum(found) === crc ? found.toString('utf8') : undefined;
  }

  /** Removes all slots except `but`. A slot that cannot be removed only uses space. */
  async removeSlots(scriptId: string, but: string | undefined): Promise<void> {
    const names = await folderNames(this.#slotPath(scriptId, ''));
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
