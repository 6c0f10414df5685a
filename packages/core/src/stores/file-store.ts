import { resolve } from 'node:path';
import type {
  AppendOptions,
  Claim,
  ClaimStore,
  HarnessStore,
  JournalStore,
  JournalSummary,
} from '../protocol/index.js';
import { ClaimFiles } from './claim-files.js';
import { ImageFiles } from './image-files.js';
import { JournalFiles } from './journal-files.js';
import { checkScriptId } from './names.js';
import { StoreFolder } from './store-folder.js';

export interface FileStoreOptions {
  /** Default 64 MiB. */
  maxScriptBytes?: number;
}

/**
 * Keeps scripts in a folder of a local disk, for any number of processes of one user. Nothing is made before the
 * first write. Appends are synchronous; only with `flush` is there something to await.
 */
export function fileStore(folder: string, options: FileStoreOptions = {}): HarnessStore {
  const own = new StoreFolder(resolve(folder));
  const claims = new ClaimFiles(own);
  const journals = new JournalFiles(own, options.maxScriptBytes ?? 64 * 1_048_576);
  return {
    claim: new FileClaims(claims, journals),
    journal: new FileJournals(claims, journals),
    images: new ImageFiles(own),
  };
}

/** Claims and journal know of each other: whoever takes a script over fences its journal before reading it. */
class FileClaims implements ClaimStore {
  constructor(
    readonly claims: ClaimFiles,
    readonly journals: JournalFiles,
  ) {}

  async current(scriptId: string): Promise<Claim | undefined> {
    checkScriptId(scriptId);
    const epoch = await this.#epochOf(scriptId);
    return epoch === 0 ? undefined : this.claims.claim(scriptId, epoch);
  }

  async take(scriptId: string, fromEpoch: number): Promise<boolean> {
    checkScriptId(scriptId);
    if ((await this.#epochOf(scriptId)) !== fromEpoch) return false;
    if (!(await this.claims.take(scriptId, fromEpoch + 1))) return false;
    if (fromEpoch > 0) this.journals.fence(scriptId, fromEpoch + 1);
    return true;
  }

  async release(scriptId: string, epoch: number): Promise<void> {
    checkScriptId(scriptId);
    this.claims.release(scriptId, epoch);
  }

  /** The first claim may be lost in a power cut that the journal survived; then the journal says. */
  async #epochOf(scriptId: string): Promise<number> {
    const epoch = this.claims.newestEpoch(scriptId);
    if (epoch > 0 || this.journals.size(scriptId) === undefined) return epoch;
    return (await this.journals.read(scriptId)).newestEpoch;
  }
}

class FileJournals implements JournalStore {
  constructor(
    readonly claims: ClaimFiles,
    readonly journals: JournalFiles,
  ) {}

  append(scriptId: string, epoch: number, lines: readonly string[], options?: AppendOptions): void | Promise<void> {
    checkScriptId(scriptId);
    this.claims.demandCurrent(scriptId, epoch);
    if (lines.length === 0) return;
    if (options?.flush === true) return this.journals.appendAndFlush(scriptId, epoch, lines);
    this.journals.append(scriptId, epoch, lines);
  }

  async read(scriptId: string): Promise<readonly string[] | undefined> {
    checkScriptId(scriptId);
    const { lines } = await this.journals.read(scriptId);
    return lines.length === 0 ? undefined : lines;
  }

  async list(): Promise<readonly JournalSummary[]> {
    const summaries: JournalSummary[] = [];
    for (const scriptId of new Set([...this.journals.scriptIds(), ...this.claims.scriptIds()])) {
      const summary = await this.#summary(scriptId);
      if (summary !== undefined) summaries.push(summary);
    }
    return summaries.sort((one, other) => one.updatedAtMs - other.updatedAtMs);
  }

  async delete(scriptId: string): Promise<void> {
    checkScriptId(scriptId);
    // In this order a holder that is still there is refused before its journal goes.
    this.claims.forget(scriptId);
    this.journals.delete(scriptId);
  }

  /** Undefined where it was deleted meanwhile. */
  async #summary(scriptId: string): Promise<JournalSummary | undefined> {
    const size = this.journals.size(scriptId);
    const updatedAtMs = size?.changedAtMs ?? this.claims.changedAtMs(scriptId);
    if (updatedAtMs === undefined) return undefined;
    if (size === undefined) return { scriptId, updatedAtMs, bytes: 0, lastLine: '' };
    const lastLine = await this.journals.lastLine(scriptId, this.claims.newestEpoch(scriptId));
    return { scriptId, updatedAtMs, bytes: size.bytes, lastLine };
  }
}
