import { JournalFullError, StaleEpochError, ToolscriptUsageError } from '../protocol/index.js';
import { stale, type ClaimFiles } from './claim-files.js';
import type { JournalFiles } from './journal-files.js';
import { writeBatch, type BatchParts, type SlotReference } from './journal-text.js';
import { files, syncFolder, writeWhole } from './store-folder.js';

export interface WriteOptions {
  readonly lines: readonly string[];
  readonly status?: BatchParts['status'];
  /** Text. Null: the slot is emptied. */
  readonly slot?: string | null | undefined;
  readonly flush?: boolean | undefined;
  /** Written even where it has no parts: what older epochs write below it does not count. */
  readonly isFence?: boolean;
  /** Of the journal and the slot. */
  readonly mostBytes: number;
}

/** Where a writer goes on. */
export interface WriterStart {
  /** The number of its first batch. */
  readonly next: number;
  /** Of the journal, as it was seen. */
  readonly bytes: number;
  /** The open file of the epoch's claim. */
  readonly claim: number;
}

/** What is known of an append that is tried. */
interface Attempt {
  /** The batch, where it may have been written. */
  written: Buffer | undefined;
  /** The batch counts. */
  stands: boolean;
}

/**
 * Writes one epoch of a script's journal, one batch after the other. Each batch is one write to a file opened for
 * appending, which the system puts in one piece after what is there. That it still counts is seen afterwards: where the
 * file has grown by just this batch, no fence of a later epoch stands before it, and whoever takes the script over
 * later reads it. Nothing is ever cut off or overwritten.
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
  /** Appends that have not ended. */
  #pending = 0;

  /** `start`: of an epoch that was taken just now. Otherwise the journal says where it goes on. */
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

  /** Holds files open. */
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

  /** When it has written everything: the claim is let go. It can be used again. */
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

  /** When it has written everything. It can be used again: what is appended later waits for it. */
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

  /** Once more where it fails: that may have been the moment. */
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

  async #writeAll({ lines, status, slot, flush = false, mostBytes }: WriteOptions, attempt: Attempt): Promise<void> {
    const room = mostBytes - this.#bytes;
    const reference = typeof slot === 'string' ? await this.#putSlot(slot, flush, room) : slot;
    await this.#write({ lines, status, slot: reference }, room - (reference?.bytes ?? 0), attempt);
    attempt.stands = true;
    // Without it the loss of this batch would not be noticed; the next one says it too.
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
    // Of the first attempt nobody knows what became of it.
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
      // defence: appends-count-or-fail, without it: break;
      if (await this.#stands(text)) break;
    }
    this.#next += 1;
  }

  /**
   * Others have written too: a process of an older epoch that does not know yet, or another writer of this one.
   * Whether this batch counts; otherwise it has to be written again under a free number.
   */
  async #stands(text: Buffer): Promise<boolean> {
    // Whoever takes the script over from here on reads what stands there already.
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

/** Trying again would not help. */
function isFinal(error: unknown): boolean {
  return error instanceof StaleEpochError || error instanceof JournalFullError || error instanceof ToolscriptUsageError;
}

function full(scriptId: string): JournalFullError {
  return new JournalFullError(`The store keeps no more bytes of ${scriptId}`);
}
