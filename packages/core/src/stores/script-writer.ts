import { JournalFullError, StaleEpochError, ToolscriptUsageError } from '../protocol/index.js';
import { stale, type ClaimFiles, type JournalFiles } from './script-files.js';
import { writeBatch, type BatchParts, type SlotReference } from './journal-text.js';
import { files, syncFolder, writeWhole } from '../durable-files/private-folder.js';

export interface WriteOptions {
  readonly lines: readonly string[];
  readonly status?: BatchParts['status'] | undefined;
  /** The new text of the slot; null empties it. */
  readonly slot?: string | null | undefined;
  readonly flush?: boolean | undefined;
  /** True: the batch is written even without parts, so that later writes of older epochs do not count. */
  readonly isFence?: boolean | undefined;
  /** Maximum size of the journal and the slot. */
  readonly maxBytes: number;
}

/** The position where a writer continues. */
export interface WriterStart {
  /** The number of the writer's first batch. */
  readonly next: number;
  /** The size of the journal when it was read. */
  readonly bytes: number;
  /** The open file of the epoch's claim. */
  readonly claim: number;
}

/** The state of one append, which a retry of the append shares. */
interface Attempt {
  /** The batch, if it may have been written. */
  written: Buffer | undefined;
  /** True: the batch counts. */
  stands: boolean;
}

/**
 * Writes one epoch of a script's journal, one batch after the other. Each batch is one write in append mode, which the
 * system places contiguously at the end of the file. The writer then verifies that the batch counts: if the file has
 * grown by exactly this batch, no fence of a later epoch precedes it, and any later claimer will read it. Nothing is
 * ever truncated or overwritten.
 */
export class ScriptWriter {
  readonly #scriptId: string;
  readonly epoch: number;
  readonly #claims: ClaimFiles;
  readonly #journals: JournalFiles;
  #isStarted: boolean;
  #next: number;
  #bytes: number;
  #journal: number | undefined;
  #claim: number | undefined;
  #isFolderSynced = false;
  #tail: Promise<unknown> = Promise.resolve();
  /** The number of appends in progress. */
  #pending = 0;

  /** `start`: where to continue in an epoch that was just claimed. Default: the journal determines the position. */
  constructor(
    scriptId: string,
    epoch: number,
    parts: { claims: ClaimFiles; journals: JournalFiles },
    start?: WriterStart,
  ) {
    this.#scriptId = scriptId;
    this.epoch = epoch;
    this.#claims = parts.claims;
    this.#journals = parts.journals;
    this.#isStarted = start !== undefined;
    this.#next = start?.next ?? 0;
    this.#bytes = start?.bytes ?? 0;
    this.#claim = start?.claim;
  }

  /** Whether files are open. */
  get isOpen(): boolean {
    return this.#claim !== undefined || this.#journal !== undefined;
  }

  get isIdle(): boolean {
    return this.#pending === 0;
  }

  append(options: WriteOptions): Promise<void> {
    this.#pending += 1;
    const done = this.#tail.then(() => this.#append(options));
    this.#tail = done.then(
      () => this.#end(),
      () => this.#end(),
    );
    return done;
  }

  /** Finishes all writes, then releases the claim. The writer can be used again. */
  release(): Promise<void> {
    const done = this.#tail.then(() => this.#release());
    this.#tail = done.catch(() => {});
    return done;
  }

  async #release(): Promise<void> {
    try {
      await this.#claims.release(this.#scriptId, this.epoch, this.#claim);
    } finally {
      await this.#closeFiles();
    }
  }

  /** Finishes all writes, then closes the files. Later appends wait for that and open the files again. */
  close(): Promise<void> {
    const done = this.#tail.then(() => this.#closeFiles());
    this.#tail = done.catch(() => {});
    return done;
  }

  async #closeFiles(): Promise<void> {
    const open = [this.#journal, this.#claim];
    this.#journal = undefined;
    this.#claim = undefined;
    for (const file of open) if (file !== undefined) await files.close(file);
  }

  #end(): void {
    this.#pending -= 1;
  }

  /** Retries a failed append once, because the cause may have been temporary. */
  async #append(options: WriteOptions): Promise<void> {
    const attempt: Attempt = { written: undefined, stands: false };
    try {
      await this.#attempt(options, attempt);
    } catch (error) {
      if (isFinal(error)) throw error;
      await this.#attempt(options, attempt);
    }
  }

  async #attempt(options: WriteOptions, attempt: Attempt): Promise<void> {
    const { lines, status, slot, flush = false, isFence = false } = options;
    this.#claim ??= await this.#claims.openCurrent(this.#scriptId, this.epoch);
    if (!this.#isStarted) await this.#start();
    if (lines.length === 0 && status === undefined && slot === undefined && !isFence)
      await this.#claims.demandCurrent(this.#scriptId, this.epoch);
    else if (!attempt.stands) await this.#writeAll(options, attempt);
    if (flush) await this.#flush();
  }

  async #writeAll({ lines, status, slot, flush = false, maxBytes }: WriteOptions, attempt: Attempt): Promise<void> {
    const room = maxBytes - this.#bytes;
    const reference = typeof slot === 'string' ? await this.#putSlot(slot, flush, room) : slot;
    await this.#write({ lines, status, slot: reference }, room - (reference?.bytes ?? 0), attempt);
    attempt.stands = true;
    // Without this count, a loss of the batch would go unnoticed. If the write fails, the next batch records the count.
    if (this.#claim !== undefined) await this.#claims.noteAppended(this.#claim, this.#next).catch(() => {});
    if (reference !== undefined) await this.#journals.removeSlots(this.#scriptId, reference?.name).catch(() => {});
  }

  async #start(): Promise<void> {
    const { text, bytes } = await this.#journals.read(this.#scriptId);
    this.#next = text.counts.get(this.epoch) ?? 0;
    this.#bytes = bytes.length;
    this.#isStarted = true;
  }

  async #putSlot(text: string, flush: boolean, room: number): Promise<SlotReference> {
    const bytes = Buffer.from(text);
    if (bytes.length > room) throw full(this.#scriptId);
    return this.#journals.putSlot(this.#scriptId, `slot-${this.epoch}-${this.#next}`, bytes, flush);
  }

  async #write(parts: BatchParts, room: number, attempt: Attempt): Promise<void> {
    // The first attempt may have written the batch.
    if (attempt.written !== undefined && (await this.#stands(attempt.written))) {
      this.#next += 1;
      return;
    }
    for (;;) {
      const text = Buffer.from(writeBatch(this.epoch, this.#next, parts));
      if (text.length > room) throw full(this.#scriptId);
      this.#journal ??= await this.#journals.openForAppend(this.#scriptId);
      attempt.written = text;
      await writeWhole(this.#journal, text);
      const { size, nlink } = await files.fstat(this.#journal);
      if (nlink === 0) throw stale(this.#scriptId, this.epoch);
      if (size === this.#bytes + text.length) {
        this.#bytes = size;
        break;
      }
      // defence: appends-count-or-fail
      if (await this.#stands(text)) break;
    }
    this.#next += 1;
  }

  /**
   * Returns whether this batch counts after other writers have appended too: a process of an older epoch that does not
   * know that it lost its claim, or another writer of this epoch. If the batch does not count, it must be written again
   * with a free number.
   */
  async #stands(text: Buffer): Promise<boolean> {
    // A process that claims the script from here on reads the batches already written.
    await this.#claims.demandCurrent(this.#scriptId, this.epoch);
    const { bytes, text: journal } = await this.#journals.read(this.#scriptId);
    this.#bytes = bytes.length;
    const place = bytes.indexOf(text);
    if (place >= 0 && bytes.indexOf(`\n#${this.epoch}.${this.#next}*`) === place) return true;
    this.#next = journal.counts.get(this.epoch) ?? 0;
    return false;
  }

  async #flush(): Promise<void> {
    this.#journal ??= await this.#journals.openForAppend(this.#scriptId);
    await files.fdatasync(this.#journal);
    if (!this.#isFolderSynced) await syncFolder(this.#journals.folder);
    this.#isFolderSynced = true;
    if (this.#claim !== undefined) await this.#claims.noteFlushed(this.#claim, this.#next);
  }
}

/** Whether a retry would not help. */
function isFinal(error: unknown): boolean {
  return error instanceof StaleEpochError || error instanceof JournalFullError || error instanceof ToolscriptUsageError;
}

function full(scriptId: string): JournalFullError {
  return new JournalFullError(
    `The journal of ${scriptId} has reached its maximum size. Raise maxScriptBytes of the store`,
  );
}
