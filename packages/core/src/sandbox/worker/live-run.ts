import type {
  ImageSource,
  SandboxCapture,
  SandboxCell,
  SandboxJob,
  SandboxObserver,
  SandboxRun,
  Settlement,
} from '../../protocol/index.js';
import type { SlotSnapshot } from '../quickjs/slot.js';
import { SnapshotError } from '../quickjs/snapshot.js';
import { keepableArtefacts, loadStoredArtefacts, type ExecuteArtefacts } from './artefacts.js';
import { writeInit, type ColumnReader } from './guest-messages.js';
import type { CancelReason } from './link.js';
import type { RunRestore, RunStart, SentTexts } from './messages.js';
import { nextHeapKey } from './recent-heaps.js';
import { toolsKey } from './tools-key.js';
import type { Lane, WorkerThread } from './worker-thread.js';

/** The functions of the pool that a run calls. */
interface RunHost {
  settle(run: LiveRun, settlements: readonly Settlement[], clockMs: number, wallMs: number): void;
  cancel(run: LiveRun, reason: CancelReason): void;
  capture(run: LiveRun): Promise<SandboxCapture | undefined>;
}

type LiveState = 'waiting' | 'running' | 'ended';

/** The data from which a captured run is restored. */
interface Origin {
  snapshot: SlotSnapshot;
  images: readonly string[];
  /** Engine and image, if they belong to another version. */
  other: ExecuteArtefacts | undefined;
}

/** A run, from the call of `run` to the last segment. */
export class LiveRun implements SandboxRun {
  state: LiveState = 'waiting';
  worker: WorkerThread | undefined;
  slot = 0;
  segments = 0;
  /**
   * Number of further segments that are not delivered, because they repeat segments that were delivered before the run
   * started over.
   */
  toSkip = 0;
  wallMs: number;
  columns: ColumnReader | undefined;
  lane: Lane = 'fast';
  /** Maximum time of a turn in the slow lane while other scripts wait for a turn, in ms; 0 before the first turn. */
  sliceMs = 0;
  /** True if the run's guest broke a rule of the bridge. */
  isBroken = false;
  /** The number of the run's commands that the worker has not answered. */
  outstanding = 0;
  /** The number of workers that died while they executed this run. */
  deaths = 0;
  /** The captured state from which the script starts. Undefined: the script starts from its beginning. */
  origin: Origin | undefined;
  /** True after the run was restored and the observer was notified. */
  isRestored = false;
  capturing: ((snapshot: SlotSnapshot | undefined) => void) | undefined;
  /** The end of the wait for a worker that is busy with other scripts, on the monotonic clock; see `StartWatch`. */
  startBy: number | undefined;
  /** Every batch of settlements, in order, for a replay on another worker. */
  readonly tape: { batchJson: string; settled: number[]; clockMs: number }[] = [];
  /** The number of entries of the tape that the run's worker has. */
  sentCount = 0;

  constructor(
    readonly pool: RunHost,
    /**
     * The run's name on its worker. The name changes each time the run starts over, so that late reports of an earlier
     * attempt are ignored.
     */
    public key: number,
    readonly job: SandboxJob,
    readonly observer: SandboxObserver,
  ) {
    this.wallMs = job.wallMs;
  }

  settle(settlements: readonly Settlement[], clockMs: number, wallMs: number): void {
    this.pool.settle(this, settlements, clockMs, wallMs);
  }

  cancel(reason: CancelReason): void {
    this.pool.cancel(this, reason);
  }

  capture(): Promise<SandboxCapture | undefined> {
    return this.pool.capture(this);
  }
}

/** A script that computes for this long, in ms, while others share its worker is moved to the slow lane. */
const SLICE_MS = 10;

/** Sends a worker all commands that lead to the run's state: its start or its captured memory, and its tape. */
export function sendRun(run: LiveRun, worker: WorkerThread, maxMemoryBytes: number): void {
  run.outstanding = 1;
  run.sentCount = 0;
  worker.segmentLimits.set(run.key, run.wallMs);
  if (run.origin === undefined) worker.send(['run', run.key, runStart(run, worker, maxMemoryBytes)]);
  else worker.send(['restore', run.key, runRestore(run, worker, run.origin, maxMemoryBytes)]);
  sendSettlements(run, worker);
  if (run.capturing !== undefined) sendCapture(run, worker);
}

/** Sends the worker the entries of the run's tape that it does not have. */
export function sendSettlements(run: LiveRun, worker: WorkerThread): void {
  worker.segmentLimits.set(run.key, run.wallMs);
  for (; run.sentCount < run.tape.length; run.sentCount++) {
    const { batchJson, settled, clockMs } = run.tape[run.sentCount]!;
    worker.send(['settle', run.key, batchJson, settled, clockMs, run.wallMs]);
    run.outstanding++;
  }
}

export function sendCapture(run: LiveRun, worker: WorkerThread): void {
  worker.send(['capture', run.key]);
  run.outstanding++;
}

function runRestore(
  run: LiveRun,
  worker: WorkerThread,
  { snapshot, other }: Origin,
  maxMemoryBytes: number,
): RunRestore {
  const { slot, job } = run;
  const texts = sentTexts(job, worker);
  const { limits } = job;
  const isCell = job.cell !== undefined;
  return { slot, snapshot, texts, sliceMs: runSliceMs(run), limits, maxMemoryBytes, other, isCell };
}

function sentTexts({ toolNames, contextJson, positions = '' }: SandboxJob, worker: WorkerThread): SentTexts {
  const key = toolsKey(toolNames);
  return { toolsKey: key, toolNames: worker.knowsTools(key) ? undefined : toolNames, contextJson, positions };
}

function runStart(run: LiveRun, worker: WorkerThread, maxMemoryBytes: number): RunStart {
  const { job } = run;
  const { cell } = job;
  // The number of the script is part of its bytecode, for its stacks.
  const sha256 = cell === undefined ? job.sha256 : `${job.sha256} ${cell.number}`;
  return {
    slot: run.slot,
    sha256,
    javascript: worker.knows(sha256) ? undefined : job.javascript,
    initText: writeInit(job),
    texts: sentTexts(job, worker),
    clockMs: job.clockMs,
    wallMs: run.wallMs,
    sliceMs: runSliceMs(run),
    limits: worker.isLastLimits(job.limits) ? undefined : job.limits,
    cell: cell && runCell(cell, maxMemoryBytes),
  };
}

function runCell({ number, heap }: SandboxCell, maxMemoryBytes: number): RunStart['cell'] {
  const parts = heap?.parts ?? [];
  return {
    number,
    heap: parts,
    isDelta: heap?.isBase === true,
    maxMemoryBytes,
    heapKey: parts.reduce(nextHeapKey, ''),
  };
}

function runSliceMs({ lane, sliceMs }: LiveRun): number {
  return lane === 'slow' ? sliceMs : SLICE_MS;
}

/**
 * Writes a slot's snapshot as bytes: the length of a JSON text (32 bits, little-endian), the text with all members
 * except the memory, then the memory.
 */
export function writeCapture(snapshot: SlotSnapshot, images: readonly string[]): SandboxCapture {
  const { memory, ...rest } = snapshot;
  const json = Buffer.from(JSON.stringify(rest));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return { runtime: 'quickjs', images, state: Buffer.concat([length, json, memory]) };
}

/** Reads a slot's snapshot. Throws a `SnapshotError` if the bytes do not have the form that `writeCapture` writes. */
function readCapture(state: Uint8Array): SlotSnapshot {
  const bytes = Buffer.from(state.buffer, state.byteOffset, state.byteLength);
  if (bytes.length < 4 || bytes.length < 4 + bytes.readUInt32LE(0)) throw new SnapshotError('the capture is truncated');
  const end = 4 + bytes.readUInt32LE(0);
  let rest: unknown;
  try {
    rest = JSON.parse(bytes.toString('utf8', 4, end));
  } catch {
    throw new SnapshotError('the capture cannot be read');
  }
  if (!isRest(rest)) throw new SnapshotError('the capture lacks a part');
  // This copies the memory, because a message to a worker carries the whole buffer of a view.
  return { ...rest, memory: Uint8Array.from(bytes.subarray(end)) };
}

function isRest(value: unknown): value is Omit<SlotSnapshot, 'memory'> {
  if (typeof value !== 'object' || value === null) return false;
  const { clockMs, computeLeftMs, peakHeap, nextCall, waiting, racing, rejections, ranOutOf } =
    value as Partial<SlotSnapshot>;
  const numbers = [clockMs, computeLeftMs, peakHeap, nextCall];
  const lists = [waiting, racing, rejections];
  return (
    numbers.every((one) => typeof one === 'number') &&
    lists.every((one) => Array.isArray(one)) &&
    typeof ranOutOf === 'object'
  );
}

/** Maximum number of other versions whose engine and image stay loaded. */
const MAX_LOADED = 4;

/**
 * The images from which captured scripts are restored: this version's image, and images of other versions on demand.
 */
export class RestorableImages {
  readonly #maxMemoryMb: number;
  readonly #loadedArtefacts = new Map<string, Promise<ExecuteArtefacts>>();
  #current: Promise<ReadonlyMap<string, Uint8Array>> | undefined;

  constructor(maxMemoryMb: number) {
    this.#maxMemoryMb = maxMemoryMb;
  }

  /** This version's images, by name. */
  current(): Promise<ReadonlyMap<string, Uint8Array>> {
    this.#current ??= keepableArtefacts();
    return this.#current;
  }

  /** Rejects if the capture is damaged, or if one of its images is missing or unusable. */
  async captureOrigin(capture: SandboxCapture, images: ImageSource): Promise<Origin> {
    const snapshot = readCapture(capture.state);
    const current = [...(await this.current()).keys()];
    const isCurrent = capture.images.every((name, index) => name === current[index]);
    const other = isCurrent ? undefined : await this.#load(capture.images, images);
    return { snapshot, images: capture.images, other };
  }

  #load(names: readonly string[], images: ImageSource): Promise<ExecuteArtefacts> {
    const key = names.join(' ');
    const known = this.#loadedArtefacts.get(key);
    if (known !== undefined) return known;
    const loading = loadStoredArtefacts(names, images, this.#maxMemoryMb);
    loading.catch(() => this.#loadedArtefacts.delete(key));
    if (this.#loadedArtefacts.size >= MAX_LOADED) this.#loadedArtefacts.clear();
    this.#loadedArtefacts.set(key, loading);
    return loading;
  }
}

/**
 * Runs by their keys. A plain `Map` whose entries come and go quickly leaves old tables in V8's old generation, which
 * retain their entries until the next full collection: nearly a third of the garbage of short scripts. In this class
 * such a table retains only empty boxes.
 */
export class RunTable<Run extends { readonly key: number }> {
  readonly #boxes = new Map<number, { run: Run | undefined }>();

  get size(): number {
    return this.#boxes.size;
  }

  add(run: Run): void {
    this.#boxes.set(run.key, { run });
  }

  get(key: number): Run | undefined {
    return this.#boxes.get(key)?.run;
  }

  delete(key: number): void {
    const box = this.#boxes.get(key);
    if (box === undefined) return;
    box.run = undefined;
    this.#boxes.delete(key);
  }

  all(): Run[] {
    return [...this.#boxes.values()].flatMap(({ run }) => run ?? []);
  }
}
