import { createHash } from 'node:crypto';
import type { AuditFile } from './audit-file.js';
import type {
  AuditFilter,
  AuditPage,
  AuditQuery,
  AuditTable,
  HashedEntry,
  ServiceAuditEntry,
} from '@toolscript/service/stores';
import type { AuditStore } from './audit-log.js';

/** Number of entries that one step reads and copies. */
const CHUNK = 100;

/** Maximum number of entries that are copied together. Older uncopied entries stay only in the file. */
const MAX_BACKLOG = 50_000;

/** The delay before the next attempt after the database has failed, in ms. */
const RETRY_MS = 5_000;

export interface SharedAuditSettings {
  readonly file: AuditFile;
  readonly table: AuditTable;
  /** Receives the fault of a failed copy, but no further faults until a copy succeeds. */
  readonly onFault: (error: unknown) => void;
}

/**
 * The audit log of servers that share a database. An entry is appended to the file of this machine first, at once and
 * without the database, and then copied to the table, which answers queries. The file keeps the entries, so the next
 * process resumes an interrupted copy.
 */
export class SharedAudit implements AuditStore {
  readonly #settings: SharedAuditSettings;
  #copying: Promise<void> | undefined;
  #isWoken = false;
  #isFailing = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(settings: SharedAuditSettings) {
    this.#settings = settings;
    this.#wake();
  }

  readonly append = (entry: ServiceAuditEntry): void => {
    this.#settings.file.append(entry);
    this.#wake();
  };

  async list(query: AuditQuery): Promise<AuditPage> {
    await this.#untilCopied();
    return this.#settings.table.list(query);
  }

  async *export(filter: AuditFilter): AsyncGenerator<ServiceAuditEntry, void, undefined> {
    await this.#untilCopied();
    const entries: ServiceAuditEntry[] = [];
    for (let after: string | undefined; ;) {
      const page = await this.#settings.table.list({
        ...filter,
        limit: CHUNK,
        ...(after === undefined ? {} : { after }),
      });
      entries.push(...page.entries);
      if (page.next === undefined) break;
      after = page.next;
    }
    yield* entries.toReversed();
  }

  /** Copies the last entries if the database answers, and closes the file. */
  async close(): Promise<void> {
    await this.#untilCopied();
    clearTimeout(this.#retry);
    this.#settings.file.close();
  }

  #wake(): void {
    this.#isWoken = true;
    this.#copying ??= this.#copyAll().finally(() => (this.#copying = undefined));
  }

  /** Resolves after an attempt to copy all entries so far, even if the attempt failed. */
  async #untilCopied(): Promise<void> {
    this.#wake();
    await this.#copying;
  }

  async #copyAll(): Promise<void> {
    // Entries that are appended at the same time are copied together.
    await Promise.resolve();
    while (this.#isWoken) {
      this.#isWoken = false;
      try {
        await this.#copyNew();
        this.#isFailing = false;
      } catch (error) {
        this.#report(error);
      }
    }
  }

  #report(error: unknown): void {
    if (!this.#isFailing) this.#settings.onFault(error);
    this.#isFailing = true;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#wake(), RETRY_MS).unref();
  }

  /** Copies entries in the order of the file, so the entries before a copied entry have been copied too. */
  async #copyNew(): Promise<void> {
    const missing = (await this.#missing()).toReversed();
    for (let index = 0; index < missing.length; index += CHUNK)
      await this.#settings.table.add(missing.slice(index, index + CHUNK));
  }

  /** The entries that the table lacks, newest first. */
  async #missing(): Promise<HashedEntry[]> {
    const { file, table } = this.#settings;
    const missing: HashedEntry[] = [];
    for (let after: string | undefined; missing.length < MAX_BACKLOG;) {
      const page = await file.list({ limit: CHUNK, after });
      const hashed = page.entries.map((entry) => ({ sha256: entryHash(entry), entry }));
      const known = await table.known(hashed.map(({ sha256 }) => sha256));
      const unknown = hashed.filter(({ sha256 }) => !known.has(sha256));
      missing.push(...unknown);
      if (unknown.length < hashed.length || page.next === undefined) break;
      after = page.next;
    }
    return missing;
  }
}

function entryHash(entry: ServiceAuditEntry): string {
  return createHash('sha256').update(JSON.stringify(entry)).digest('hex');
}
