import {
  JournalFullError,
  StaleEpochError,
  type Claim,
  type ClaimStore,
  type HarnessStore,
  type ImageStore,
  type JournalStore,
  type JournalSummary,
} from '../protocol/index.js';
import { demandHash } from './image-files.js';
import { writeBatch } from './journal-text.js';
import { checkScriptId, checkSha256 } from './names.js';

export interface MemoryStoreOptions {
  /** Default 64 MiB. */
  maxScriptBytes?: number;
}

/** Keeps scripts as long as this process lives: for tests. */
export function memoryStore(options: MemoryStoreOptions = {}): HarnessStore {
  const scripts: Scripts = new Map();
  return {
    claim: new MemoryClaims(scripts),
    journal: new MemoryJournals(scripts, options.maxScriptBytes ?? 64 * 1_048_576),
    images: new MemoryImages(),
  };
}

interface Script {
  epoch: number;
  isReleased: boolean;
  updatedAtMs: number;
  bytes: number;
  readonly lines: string[];
}

/** Oldest change first. */
type Scripts = Map<string, Script>;

class MemoryClaims implements ClaimStore {
  constructor(readonly scripts: Scripts) {}

  async current(scriptId: string): Promise<Claim | undefined> {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId);
    return script === undefined ? undefined : { epoch: script.epoch, isHeld: !script.isReleased };
  }

  async take(scriptId: string, fromEpoch: number): Promise<boolean> {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId) ?? newScript();
    if (script.epoch !== fromEpoch) return false;
    script.epoch += 1;
    script.isReleased = false;
    change(this.scripts, scriptId, script);
    return true;
  }

  async release(scriptId: string, epoch: number): Promise<void> {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId);
    if (script?.epoch === epoch) script.isReleased = true;
  }
}

class MemoryJournals implements JournalStore {
  constructor(
    readonly scripts: Scripts,
    readonly maxScriptBytes: number,
  ) {}

  append(scriptId: string, epoch: number, lines: readonly string[]): void {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId);
    if (script?.epoch !== epoch) throw new StaleEpochError(`Epoch ${epoch} of ${scriptId} is not the current one`);
    if (lines.length === 0) return;
    const bytes = script.bytes + Buffer.byteLength(writeBatch(epoch, lines));
    if (bytes > this.maxScriptBytes)
      throw new JournalFullError(`The journal of ${scriptId} would have more than ${this.maxScriptBytes} bytes`);
    script.bytes = bytes;
    script.lines.push(...lines);
    change(this.scripts, scriptId, script);
  }

  async read(scriptId: string): Promise<readonly string[] | undefined> {
    checkScriptId(scriptId);
    const lines = this.scripts.get(scriptId)?.lines ?? [];
    return lines.length === 0 ? undefined : [...lines];
  }

  async list(): Promise<readonly JournalSummary[]> {
    return [...this.scripts].map(([scriptId, { updatedAtMs, bytes, lines }]) => ({
      scriptId,
      updatedAtMs,
      bytes,
      lastLine: lines.at(-1) ?? '',
    }));
  }

  async delete(scriptId: string): Promise<void> {
    checkScriptId(scriptId);
    this.scripts.delete(scriptId);
  }
}

class MemoryImages implements ImageStore {
  readonly #images = new Map<string, Uint8Array>();

  async has(sha256: string): Promise<boolean> {
    checkSha256(sha256);
    return this.#images.has(sha256);
  }

  async put(sha256: string, bytes: Uint8Array): Promise<void> {
    demandHash(sha256, bytes);
    this.#images.set(sha256, bytes.slice());
  }

  async get(sha256: string): Promise<Uint8Array | undefined> {
    checkSha256(sha256);
    return this.#images.get(sha256)?.slice();
  }

  async list(): Promise<readonly string[]> {
    return [...this.#images.keys()];
  }

  async delete(sha256: string): Promise<void> {
    checkSha256(sha256);
    this.#images.delete(sha256);
  }
}

function newScript(): Script {
  return { epoch: 0, isReleased: false, updatedAtMs: 0, bytes: 0, lines: [] };
}

function change(scripts: Scripts, scriptId: string, script: Script): void {
  script.updatedAtMs = Date.now();
  scripts.delete(scriptId);
  scripts.set(scriptId, script);
}
