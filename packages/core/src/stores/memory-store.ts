import {
  JournalFullError,
  StaleEpochError,
  type AppendOptions,
  type Claim,
  type ClaimStore,
  type HarnessStore,
  type HeapLimits,
  type ImageStore,
  type JournalContent,
  type JournalStore,
  type ListQuery,
  type ScriptPage,
  type ScriptStatus,
  type ListedScript,
  type TakeOptions,
  type ClaimedJournal,
} from '../protocol/index.js';
import { MemoryHeaps } from './memory-heaps.js';
import { demandHash } from './image-bytes.js';
import { writeBatch } from './journal-text.js';
import { checkScriptId, checkSha256 } from './names.js';
import { fits, statusEntryName } from './script-lists.js';

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** Maximum size of a script's journal and slot. Default 64 MiB. */
  maxScriptBytes?: number | undefined;
  /** Default: `HEAP_LIMITS`. */
  heapLimits?: Partial<HeapLimits> | undefined;
}

/**
 * Stores scripts in memory: for tests.
 *
 * @example
 *
 * ```ts
 * const harness = createHarness({ tools: [getWeather], store: memoryStore() });
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): HarnessStore {
  const scripts: Scripts = new Map();
  return {
    claim: new MemoryClaims(scripts),
    journal: new MemoryJournals(scripts, options.maxScriptBytes ?? 64 * 1_048_576),
    images: new MemoryImages(),
    heaps: new MemoryHeaps(options.heapLimits),
  };
}

interface Script {
  epoch: number;
  owner: string;
  leaseMs: number;
  /** Monotonic time of the last renewal; undefined if released. */
  touchedAt: number | undefined;
  updatedAtMs: number;
  bytes: number;
  readonly lines: string[];
  slot: string | undefined;
  status: ScriptStatus;
}

type Scripts = Map<string, Script>;

class MemoryClaims implements ClaimStore {
  constructor(readonly scripts: Scripts) {}

  async current(scriptId: string): Promise<Claim | undefined> {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId);
    if (script === undefined) return undefined;
    const { epoch, owner, leaseMs, touchedAt = -Infinity } = script;
    const leftMs = leaseMs - (performance.now() - touchedAt);
    return { epoch, isHeld: isHeld(script), owner, expiresAtMs: Date.now() + Math.max(0, leftMs) };
  }

  async take(
    scriptId: string,
    fromEpoch: number,
    { owner, leaseMs, force = false, lines = [], status }: TakeOptions,
  ): Promise<ClaimedJournal | undefined> {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId) ?? newScript();
    if (script.epoch !== fromEpoch || (isHeld(script) && !force)) return undefined;
    const text = writeBatch(fromEpoch + 1, 0, { lines, status });
    const content = journalContent(script);
    Object.assign(script, { epoch: fromEpoch + 1, owner, leaseMs, touchedAt: performance.now() });
    script.lines.push(...lines);
    script.status = status ?? script.status;
    script.bytes += lines.length === 0 ? 0 : text.length;
    change(this.scripts, scriptId, script);
    return { epoch: script.epoch, ...content };
  }

  async renew(scriptId: string, epoch: number): Promise<boolean> {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId);
    if (script?.epoch !== epoch) return false;
    script.touchedAt = performance.now();
    return true;
  }

  async release(scriptId: string, epoch: number): Promise<void> {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId);
    if (script?.epoch === epoch) script.touchedAt = undefined;
  }
}

class MemoryJournals implements JournalStore {
  constructor(
    readonly scripts: Scripts,
    readonly maxScriptBytes: number,
  ) {}

  append(
    scriptId: string,
    epoch: number,
    lines: readonly string[],
    { slot, status }: Omit<AppendOptions, 'flush'> = {},
  ): void {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId);
    if (script?.epoch !== epoch)
      throw new StaleEpochError(
        `Epoch ${epoch} of ${scriptId} is stale: another process claimed or deleted the script. Claim it again before you write`,
      );
    if (lines.length === 0 && slot === undefined && status === undefined) return;
    const bytes = script.bytes + Buffer.byteLength(writeBatch(epoch, 0, { lines, status }));
    const slotBytes = Buffer.byteLength((slot === undefined ? script.slot : slot) ?? '');
    if (bytes + slotBytes > this.maxScriptBytes)
      throw new JournalFullError(
        `The journal of ${scriptId} has reached its maximum size. Raise maxScriptBytes of the store`,
      );
    script.bytes = bytes;
    script.lines.push(...lines);
    if (slot !== undefined) script.slot = slot ?? undefined;
    script.status = status ?? script.status;
    change(this.scripts, scriptId, script);
  }

  async read(scriptId: string): Promise<JournalContent | undefined> {
    checkScriptId(scriptId);
    const script = this.scripts.get(scriptId);
    return script === undefined || script.lines.length === 0 ? undefined : journalContent(script);
  }

  async list(query: ListQuery = {}): Promise<ScriptPage> {
    const { after = '', limit = Number.POSITIVE_INFINITY } = query;
    const all = [...this.scripts]
      .map(([scriptId, script]) => storedScript(scriptId, script))
      .toSorted((one, other) => (scriptPosition(one) < scriptPosition(other) ? -1 : 1))
      .filter((script) => fits(script, query) && scriptPosition(script) > after);
    const scripts = all.slice(0, limit);
    const last = scripts.at(-1);
    return { scripts, ...(last === undefined || all.length === scripts.length ? {} : { next: scriptPosition(last) }) };
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
  return {
    epoch: 0,
    owner: '',
    leaseMs: 0,
    touchedAt: undefined,
    updatedAtMs: 0,
    bytes: 0,
    lines: [],
    slot: undefined,
    status: { state: 'running' },
  };
}

function isHeld({ touchedAt, leaseMs }: Script): boolean {
  return touchedAt !== undefined && performance.now() - touchedAt <= leaseMs;
}

function journalContent({ lines, slot }: Script): JournalContent {
  return { lines: [...lines], slot, damage: undefined };
}

function storedScript(scriptId: string, script: Script): ListedScript {
  const { state, ...status } = script.status;
  const awake = isHeld(script) ? 'running' : 'interrupted';
  const { updatedAtMs, bytes } = script;
  return { scriptId, ...status, state: state === 'running' ? awake : state, updatedAtMs, bytes };
}

function scriptPosition({ updatedAtMs, scriptId }: ListedScript): string {
  return statusEntryName(updatedAtMs, scriptId);
}

function change(scripts: Scripts, scriptId: string, script: Script): void {
  script.updatedAtMs = Date.now();
  scripts.delete(scriptId);
  scripts.set(scriptId, script);
}
