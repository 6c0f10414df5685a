import { Worker } from 'node:worker_threads';
import type { SandboxLimits } from '../../protocol/index.js';
import type { Artefacts } from './artefacts.js';
import { Control, IDLE, WakefulLoop, WorkerLedger } from './link.js';
import type { WorkerBirth, WorkerCommand, WorkerReport } from './messages.js';

/** Maximum number of scripts whose bytecode a worker caches. */
const BYTECODE_CACHE = 1000;
/** Maximum number of lists of tools that a worker keeps. */
const TOOLS_CACHE = 64;
/**
 * The interval at which a busy worker is checked, and the maximum time by which a segment may exceed its limit before
 * the worker is terminated, in ms.
 */
const WATCH_MS = 100;
const OVERDUE_MS = 300;
/** Maximum time for which a worker may leave its messages unanswered while it executes nothing, in ms. */
const SILENT_MS = 10_000;

/** The reason for the loss of a worker that did not stop by itself. */
export const HUNG = 'worker hung';

export interface WorkerThreadHandlers {
  onReport(report: WorkerReport): void;
  /** Called after the thread was lost; `culprit` is the key of the run that the thread was executing. */
  onLost(culprit: number | undefined, detail: string): void;
  /**
   * True if the pool has only one script: then no other script needs the processor time that the pool's thread spends
   * waiting.
   */
  hasOneRun(): boolean;
}

/**
 * Scripts start in the fast lane. A script that computes for a long time while others share its worker moves to the
 * slow lane, in which each worker executes one script at a time.
 */
export type Lane = 'fast' | 'slow';

/**
 * One worker thread as the pool sees it. This class sends commands in batches, mirrors the thread's cache, and
 * terminates a thread that hangs.
 */
export class WorkerThread {
  readonly control: Control;
  readonly ready: Promise<void>;
  /** Number of live runs on this worker. */
  load = 0;
  /** Number of scripts that were started on this worker. */
  started = 0;
  /** True after the thread was ready for the first time. */
  born = false;
  droppedInstances = 0;
  droppedBytes = 0;
  /** Bytes by which the worker's live sandboxes have grown since they were started. */
  grownBytes = 0;
  readonly #worker: Worker;
  readonly #ledger = new WorkerLedger<true>(BYTECODE_CACHE);
  readonly #toolsLedger = new WorkerLedger<true>(TOOLS_CACHE);
  readonly #freeSlots: number[];
  readonly #handlers: WorkerThreadHandlers;
  readonly #loop = new WakefulLoop();
  #outgoing: WorkerCommand[] = [];
  #unansweredCount = 0;
  #watch: NodeJS.Timeout | undefined;
  /** Looks are counted instead of time, so that a machine that stood still has no hung workers. */
  #lastSeen = { run: IDLE, entered: -1, looks: 0 };
  #maxSegmentMs = 0;
  #lastLimits: SandboxLimits | undefined;
  #isLost = false;

  /** Starts the thread while the artefacts are still being read. If reading the artefacts fails, the thread ends. */
  constructor(
    artefacts: Promise<Artefacts>,
    slots: number,
    handlers: WorkerThreadHandlers,
    entry: URL,
    readonly lane: Lane = 'fast',
  ) {
    this.control = Control.create(slots);
    this.#handlers = handlers;
    this.#freeSlots = Array.from({ length: slots }, (_, index) => slots - 1 - index);
    this.#worker = new Worker(entry, {
      // defence: sandbox-threads-have-no-environment
      env: {},
      argv: [],
      execArgv: [],
      stdin: false,
      stdout: true,
      stderr: true,
      name: 'toolscript-sandbox',
      // defence: sandbox-threads-have-limits
      resourceLimits: { stackSizeMb: 16, maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 8 },
    });
    this.ready = new Promise((resolve) => {
      this.#worker.once('message', () => {
        this.born = true;
        this.#worker.on('message', (reports: WorkerReport[]) => this.#receive(reports));
        // A starting thread is referenced, so that the process does not exit before the thread is ready. Adding a
        // listener references the thread again, so this line must come last. A thread that is being terminated stays
        // referenced.
        if (this.load === 0 && !this.#isLost) this.#worker.unref();
        resolve();
      });
      this.#worker.once('exit', () => resolve());
    });
    artefacts.then(
      (loaded) => this.#sendBirth(loaded),
      () => void this.terminate(),
    );
    this.#worker.on('error', (error) => this.#lose(`the thread failed: ${error.message}`));
    this.#worker.on('exit', () => this.#lose('the thread exited'));
  }

  /** Whether the thread has commands that it has not answered. */
  get isBusy(): boolean {
    return this.#unansweredCount > 0;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** The index of a free slot; undefined if all slots are taken. */
  takeSlot(): number | undefined {
    const slot = this.#freeSlots.pop();
    if (slot !== undefined) {
      this.control.clear(slot);
      if (this.load++ === 0 && this.born) this.#worker.ref();
      if (this.lane === 'fast') this.control.setScripts(this.load);
    }
    return slot;
  }

  get hasSlot(): boolean {
    return this.#freeSlots.length > 0;
  }

  giveSlot(slot: number): void {
    this.#freeSlots.push(slot);
    if (--this.load === 0 && this.born) this.#worker.unref();
    if (this.lane === 'fast') this.control.setScripts(this.load);
  }

  /**
   * True if the worker already has the bytecode. Otherwise, the caller must send the source; after the call, the worker
   * counts as having the bytecode.
   */
  knows(sha256: string): boolean {
    return isKnown(this.#ledger, sha256);
  }

  /** The same for a list of tools' names. */
  knowsTools(key: string): boolean {
    return isKnown(this.#toolsLedger, key);
  }

  /** True if these limits are the last ones that were sent. After the call, they count as the last ones. */
  isLastLimits(limits: SandboxLimits): boolean {
    const isLast = this.#lastLimits === limits;
    this.#lastLimits = limits;
    return isLast;
  }

  send(command: WorkerCommand): void {
    if (this.#outgoing.length === 0) queueMicrotask(() => this.#flush());
    this.#outgoing.push(command);
    this.#unansweredCount++;
    if (command[0] === 'settle') this.#maxSegmentMs = Math.max(this.#maxSegmentMs, command[5]);
    else if (command[0] === 'run') this.#maxSegmentMs = Math.max(this.#maxSegmentMs, command[2].wallMs);
    if (this.#watch === undefined) {
      this.#lastSeen = { run: IDLE, entered: -1, looks: 0 };
      this.#watch = setTimeout(() => this.#look(), WATCH_MS).unref();
    }
  }

  async terminate(): Promise<void> {
    this.#isLost = true;
    clearTimeout(this.#watch);
    this.#worker.ref();
    await this.#worker.terminate();
  }

  #sendBirth(artefacts: Artefacts): void {
    const birth: WorkerBirth = {
      ...artefacts,
      control: this.control.buffer,
      bytecodeCacheSize: BYTECODE_CACHE,
      toolsCacheSize: TOOLS_CACHE,
    };
    if (!this.#isLost) this.#worker.postMessage(birth);
  }

  #flush(): void {
    const commands = this.#outgoing;
    this.#outgoing = [];
    if (this.#isLost) return;
    this.#worker.postMessage(commands);
    this.control.countMessage();
    if (this.#handlers.hasOneRun()) this.#loop.sent();
  }

  #receive(reports: WorkerReport[]): void {
    this.#loop.answered();
    this.#unansweredCount -= reports.length;
    if (this.#unansweredCount === 0) this.#maxSegmentMs = 0;
    for (const report of reports) {
      const rest = report[5];
      if (rest !== undefined) {
        this.droppedInstances = rest.dropped;
        this.droppedBytes = rest.droppedBytes;
        this.grownBytes = rest.grownBytes;
      }
      this.#handlers.onReport(report);
    }
  }

  /**
   * Terminates the thread if it exceeds the limit of its segment, or executes nothing and does not answer for
   * SILENT_MS. Normally, the engine stops itself at a script's limits.
   */
  #look(): void {
    this.#watch = undefined;
    // The timer expires instead of being cleared at every answer, because answers arrive thousands of times a second.
    if (this.#unansweredCount === 0) return;
    const { run, entered } = this.control.busy();
    const allowedMs = run === IDLE ? SILENT_MS : this.#segmentLimit(run) + OVERDUE_MS;
    if (run !== this.#lastSeen.run || entered !== this.#lastSeen.entered) this.#lastSeen = { run, entered, looks: 0 };
    else if (++this.#lastSeen.looks * WATCH_MS > allowedMs) {
      // defence: hung-threads-are-ended
      this.#lose(HUNG, run === IDLE ? undefined : run);
      return;
    }
    this.#watch = setTimeout(() => this.#look(), WATCH_MS).unref();
  }

  /** Maximum time of a segment of each live run, in ms; written by the pool. */
  readonly segmentLimits = new Map<number, number>();

  #segmentLimit(run: number): number {
    return this.segmentLimits.get(run) ?? this.#maxSegmentMs;
  }

  #lose(detail: string, culprit?: number): void {
    if (this.#isLost) return;
    this.#isLost = true;
    clearTimeout(this.#watch);
    const { run } = this.control.busy();
    void this.#worker.terminate();
    this.#handlers.onLost(culprit ?? (run === IDLE ? undefined : run), detail);
  }
}

function isKnown(ledger: WorkerLedger<true>, key: string): boolean {
  if (ledger.use(key) === true) return true;
  ledger.add(key, true);
  return false;
}
