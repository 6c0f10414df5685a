import { resolve } from 'node:path';
import {
  StaleEpochError,
  type AppendOptions,
  type Claim,
  type ClaimStore,
  type HarnessStore,
  type HeapLimits,
  type JournalContent,
  type JournalDamage,
  type JournalStore,
  type ListQuery,
  type ScriptPage,
  type TakeOptions,
  type ClaimedJournal,
  type ImageStore,
} from '../protocol/index.js';
import { ClaimFiles, stale, JournalFiles, type EpochCounts } from './script-files.js';
import { FileHeaps } from './heap-files.js';
import type { JournalText } from './journal-text.js';
import { checkScriptId, checkSha256, isSha256 } from './names.js';
import { ScriptLister, StatusIndex } from './script-lists.js';
import { ScriptWriter, type WriterStart } from './script-writer.js';
import {
  files,
  PrivateFolder,
  folderNames,
  readWhole,
  removeFile,
  statFile,
  syncFolder,
} from '../durable-files/private-folder.js';
import { demandHash, packImage, unpackImage } from './image-bytes.js';

/** Options of `fileStore`. */
export interface FileStoreOptions {
  /** Maximum size of a script's journal and slot. Default 64 MiB. */
  maxScriptBytes?: number | undefined;
  /** Default: `HEAP_LIMITS`. */
  heapLimits?: Partial<HeapLimits> | undefined;
  /**
   * Asks the operating system whether the holder of a claim is alive, if this process and the holder share a machine, a
   * boot and a PID namespace. Otherwise, and if the option is false, the lease decides. Default true.
   */
  knowsProcesses?: boolean | undefined;
}

/** Maximum number of scripts whose files stay open between two appends. */
const MAX_OPEN = 128;

/**
 * Stores scripts in a folder on a local disk, for any number of processes of one user. Nothing is created before the
 * first write. No operation blocks the event loop.
 *
 * @example
 *
 * ```ts
 * const store = fileStore('/var/lib/my-agent');
 * const harness = createHarness({ tools: [getWeather], store });
 * await recoverScripts(harness, store);
 * ```
 */
export function fileStore(folder: string, options: FileStoreOptions = {}): HarnessStore {
  const own = new PrivateFolder(resolve(folder));
  const scripts = new ScriptFiles(own, options);
  return {
    claim: new FileClaims(scripts),
    journal: new FileJournals(scripts),
    images: new ImageFiles(own),
    heaps: new FileHeaps(own, options.heapLimits),
    probe: () => writeProbe(own),
  };
}

/** Writes a file over the earlier one, as every other file is written. */
async function writeProbe(folder: PrivateFolder): Promise<void> {
  const partial = await folder.createPartial('probe');
  await folder.within([], () => files.rename(partial, folder.path('probe')));
}

/**
 * State that claims and journals share: a process that claims a script fences the journal before it reads the journal.
 */
class ScriptFiles {
  readonly claims: ClaimFiles;
  readonly journals: JournalFiles;
  readonly index: StatusIndex;
  readonly lister: ScriptLister;
  readonly maxScriptBytes: number;
  /** Ordered by use, least recent first. */
  readonly #writers = new Map<string, ScriptWriter>();

  constructor(folder: PrivateFolder, { maxScriptBytes = 64 * 1_048_576, knowsProcesses = true }: FileStoreOptions) {
    this.claims = new ClaimFiles(folder, knowsProcesses);
    this.journals = new JournalFiles(folder);
    this.index = new StatusIndex(folder);
    this.lister = new ScriptLister(this.claims, this.journals, this.index, (scriptId) => this.content(scriptId));
    this.maxScriptBytes = maxScriptBytes;
  }

  /**
   * The newest epoch. A power failure may have deleted the first claim but not the journal. In that case the journal
   * decides.
   */
  async newestEpoch(scriptId: string): Promise<number> {
    const [epoch, journal] = await Promise.all([this.claims.newestEpoch(scriptId), this.journals.size(scriptId)]);
    return epoch > 0 || journal.bytes === 0 ? epoch : (await this.journals.read(scriptId)).text.newestEpoch;
  }

  async content(scriptId: string): Promise<JournalContent & { text: JournalText; bytes: number }> {
    // Reading counts first guarantees that the journal has at least the counted batches.
    const counts = await this.claims.counts(scriptId);
    const { text, bytes } = await this.journals.read(scriptId);
    const slot = text.slot === undefined ? undefined : await this.journals.readSlot(scriptId, text.slot);
    return { lines: text.lines, slot, damage: journalDamage(text, counts), text, bytes: bytes.length };
  }

  /** The writer of an epoch, until the claim is released. */
  writer(scriptId: string, epoch: number): ScriptWriter {
    const key = `${scriptId}/${epoch}`;
    const writer = this.#writers.get(key) ?? new ScriptWriter(scriptId, epoch, this);
    this.#writers.delete(key);
    this.#writers.set(key, writer);
    this.#closeIdle();
    return writer;
  }

  startWriter(scriptId: string, epoch: number, start: WriterStart): ScriptWriter {
    const writer = new ScriptWriter(scriptId, epoch, this, start);
    this.#writers.set(`${scriptId}/${epoch}`, writer);
    return writer;
  }

  async closeWriter(scriptId: string, epoch: number): Promise<void> {
    const key = `${scriptId}/${epoch}`;
    const writer = this.#writers.get(key);
    this.#writers.delete(key);
    await writer?.close();
  }

  async release(scriptId: string, epoch: number): Promise<void> {
    const key = `${scriptId}/${epoch}`;
    const writer = this.#writers.get(key);
    if (writer === undefined) return this.claims.release(scriptId, epoch);
    this.#writers.delete(key);
    await writer.release();
  }

  async closeWriters(scriptId: string): Promise<void> {
    for (const [key, { epoch }] of this.#writers)
      if (key === `${scriptId}/${epoch}`) await this.closeWriter(scriptId, epoch);
  }

  /** Closes the files of idle writers above the maximum. A writer reopens its files when needed. */
  #closeIdle(): void {
    let tooMany = this.#writers.size - MAX_OPEN;
    for (const writer of this.#writers.values()) {
      if (tooMany <= 0) return;
      tooMany -= 1;
      if (writer.isOpen && writer.isIdle) void writer.close().catch(() => {});
    }
  }
}

class FileClaims implements ClaimStore {
  constructor(readonly scripts: ScriptFiles) {}

  async current(scriptId: string): Promise<Claim | undefined> {
    checkScriptId(scriptId);
    const epoch = await this.scripts.newestEpoch(scriptId);
    return epoch === 0 ? undefined : this.scripts.claims.claim(scriptId, epoch);
  }

  async take(scriptId: string, fromEpoch: number, options: TakeOptions): Promise<ClaimedJournal | undefined> {
    checkScriptId(scriptId);
    const { claims, index } = this.scripts;
    if ((await this.scripts.newestEpoch(scriptId)) !== fromEpoch) return undefined;
    // defence: held-claims-need-force
    if (fromEpoch > 0 && options.force !== true && (await claims.claim(scriptId, fromEpoch)).isHeld) return undefined;
    const epoch = fromEpoch + 1;
    await index.running(scriptId);
    const claim = await claims.create(scriptId, epoch, options.owner, options.leaseMs);
    if (claim === undefined) return undefined;
    try {
      return { epoch, ...(await this.#begin(scriptId, epoch, options, claim)) };
    } catch (error) {
      await this.scripts.closeWriter(scriptId, epoch).catch(() => {});
      await claims.release(scriptId, epoch).catch(() => {});
      throw error;
    }
  }

  async renew(scriptId: string, epoch: number): Promise<boolean> {
    checkScriptId(scriptId);
    return this.scripts.claims.renew(scriptId, epoch);
  }

  async release(scriptId: string, epoch: number): Promise<void> {
    checkScriptId(scriptId);
    await this.scripts.release(scriptId, epoch);
  }

  /** Fences older epochs with a batch of the claimer's own lines, then reads everything before this batch. */
  async #begin(
    scriptId: string,
    epoch: number,
    { lines = [], status }: TakeOptions,
    claim: number,
  ): Promise<JournalContent> {
    const { scripts } = this;
    const before = epoch === 1 ? undefined : await orClose(claim, () => scripts.journals.size(scriptId));
    const writer = scripts.startWriter(scriptId, epoch, { next: 0, bytes: before?.bytes ?? 0, claim });
    if (before === undefined && lines.length === 0 && status === undefined)
      return { lines: [], slot: undefined, damage: undefined };
    await writer.append({ lines, status, isFence: true, maxBytes: Number.POSITIVE_INFINITY });
    if (before === undefined) return { lines: [], slot: undefined, damage: undefined };
    await scripts.index.running(scriptId);
    await scripts.index.wake(scriptId);
    if (status !== undefined) await scripts.lister.rest(scriptId, status);
    const { lines: all, slot, damage } = await scripts.content(scriptId);
    return { lines: all.slice(0, all.length - lines.length), slot, damage };
  }
}

class FileJournals implements JournalStore {
  constructor(readonly scripts: ScriptFiles) {}

  async append(
    scriptId: string,
    epoch: number,
    lines: readonly string[],
    { flush, slot, status }: AppendOptions = {},
  ): Promise<void> {
    checkScriptId(scriptId);
    if (!(Number.isSafeInteger(epoch) && epoch > 0)) throw stale(scriptId, epoch);
    const { scripts } = this;
    const writer = scripts.writer(scriptId, epoch);
    try {
      await writer.append({ lines, status, slot, flush, maxBytes: scripts.maxScriptBytes });
    } catch (error) {
      if (error instanceof StaleEpochError) await scripts.closeWriter(scriptId, epoch);
      throw error;
    }
    // If the index cannot be updated, the next call of `list` repairs it.
    if (status !== undefined) await scripts.lister.rest(scriptId, status).catch(() => {});
  }

  async read(scriptId: string): Promise<JournalContent | undefined> {
    checkScriptId(scriptId);
    const { lines, slot, damage } = await this.scripts.content(scriptId);
    return lines.length === 0 && damage === undefined ? undefined : { lines, slot, damage };
  }

  list(query: ListQuery = {}): Promise<ScriptPage> {
    return this.scripts.lister.list(query);
  }

  async delete(scriptId: string): Promise<void> {
    checkScriptId(scriptId);
    const { claims, journals, index } = this.scripts;
    await this.scripts.closeWriters(scriptId);
    if ((await claims.newestEpoch(scriptId)) > 0) await index.deleting(scriptId);
    // Deleting the claim first stops a live holder before its journal disappears.
    await claims.delete(scriptId);
    await journals.delete(scriptId);
    await index.deleted(scriptId);
  }
}

async function orClose<Result>(file: number, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    await files.close(file);
    throw error;
  }
}

/** Returns the damage of a journal, if any. `counts`: the appended batches, according to the claims. */
function journalDamage(text: JournalText, counts: ReadonlyMap<number, EpochCounts>): JournalDamage | undefined {
  if (text.gap !== undefined) return { message: text.gap, isUnflushedTail: false };
  for (const [epoch, { appended, flushed, isOfThisBoot }] of counts) {
    const found = text.counts.get(epoch) ?? 0;
    if (found >= appended) continue;
    const message = `${appended - found} of its entries at the end of epoch ${epoch} are missing`;
    return { message, isUnflushedTail: !isOfThisBoot && found >= flushed };
  }
  return undefined;
}

/**
 * Stores each image as the compressed file `images/<sha256>`. Files appear atomically, so a reader never sees a partial
 * file.
 */
class ImageFiles implements ImageStore {
  readonly #folder: PrivateFolder;

  constructor(folder: PrivateFolder) {
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
    return (await folderNames(this.#folder.path('images'))).filter(isSha256);
  }

  async delete(sha256: string): Promise<void> {
    await removeFile(this.#path(sha256));
  }

  #path(sha256: string): string {
    checkSha256(sha256);
    return this.#folder.path('images', sha256);
  }
}
