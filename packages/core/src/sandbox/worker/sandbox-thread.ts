import type { MessagePort } from 'node:worker_threads';
import type { SandboxEnd, SandboxLimits } from '../../protocol/index.js';
import { BytecodeCompiler } from '../quickjs/bytecode-compiler.js';
import { ToolNames, type GuestTexts } from '../quickjs/guest-texts.js';
import {
  Slot,
  type MakeEngine,
  type SlotHeap,
  type SlotHost,
  type SlotSegment,
  type SlotSnapshot,
} from '../quickjs/slot.js';
import type { ExecuteArtefacts } from './artefacts.js';
import { Control, onMessages, WorkerLedger } from './link.js';
import { nextHeapKey, RecentHeaps } from './recent-heaps.js';
import {
  ReportKind,
  type ReportRest,
  type RunRestore,
  type RunStart,
  type SentTexts,
  type WorkerBirth,
  type WorkerCommand,
  type WorkerReport,
} from './messages.js';

/**
 * Maximum number of unused instances that the thread keeps. Within IDLE_MS, a thread without live scripts reduces the
 * number to MAX_WHEN_IDLE.
 */
const MAX_PRISTINE = 128;
const MAX_WHEN_IDLE = 8;
const IDLE_MS = 2_000;
/** Maximum time for which the reports of a batch's first scripts wait for the reports of its later scripts, in ms. */
const REPORT_MS = 5;
/** Growth is reported in steps of this size, so that most scripts report none. */
const GROWTH_STEP = 262_144;

interface LiveSlot {
  readonly slot: Slot;
  readonly index: number;
  bytes: number;
  /** Whether the script belongs to a program. */
  readonly isCell: boolean;
  /** The key of the memory from which the script's own is a difference, if it is one; see `RecentHeaps`. */
  readonly heapKey?: string | undefined;
}

/**
 * A worker thread with several sandboxes. It executes commands in the order of arrival, one segment at a time; a
 * script that waits for its tools holds a slot, not the worker.
 */
export class SandboxThread {
  readonly #port: MessagePort;
  readonly #birth: WorkerBirth;
  readonly #makeEngine: MakeEngine | undefined;
  readonly #control: Control;
  readonly #compiler: BytecodeCompiler;
  readonly #bytecodes: WorkerLedger<Uint8Array | SandboxEnd>;
  readonly #tools: WorkerLedger<ToolNames>;
  readonly #live = new Map<number, LiveSlot>();
  readonly #pristine: Slot[] = [];
  readonly #recentHeaps = new RecentHeaps();
  readonly #slotHost: SlotHost;
  /** Slots that no other script may reuse: those of another engine or image, and those whose guest broke a rule. */
  readonly #forOneScript = new WeakSet<Slot>();
  readonly #endedSlots: Slot[] = [];
  #currentSlot = 0;
  #lastLimits: SandboxLimits | undefined;
  #droppedCount = 0;
  #droppedBytes = 0;
  #grownBytes = 0;
  #reports: WorkerReport[] = [];
  /** The growth of the live instances that was last reported to the pool, in bytes. */
  #reportedBytes = 0;
  #reportedDropped = 0;
  #trimming: NodeJS.Timeout | undefined;

  /** `makeEngine`: tests give sandboxes an engine with faults. */
  constructor(port: MessagePort, birth: WorkerBirth, makeEngine?: MakeEngine) {
    this.#port = port;
    this.#birth = birth;
    this.#makeEngine = makeEngine;
    // The content is copied out of shared memory once: every script needs a copy, and copying from shared memory is
    // slower than from other memory.
    birth.execute.content = birth.execute.content.slice();
    this.#control = new Control(birth.control);
    this.#compiler = new BytecodeCompiler(birth.module, birth.compile);
    this.#bytecodes = new WorkerLedger(birth.bytecodeCacheSize);
    this.#tools = new WorkerLedger(birth.toolsCacheSize);
    this.#slotHost = {
      isCancelled: () => this.#control.cancelled(this.#currentSlot),
      mustMakeRoom: () => this.#control.scripts() > 1,
    };
  }

  serve(): void {
    onMessages(
      this.#port,
      () => this.#control.messages(),
      (commands) => this.#executeAll(commands as WorkerCommand[]),
    );
    this.#pristine.push(this.#makeSlot());
    this.#port.postMessage('ready');
  }

  #executeAll(commands: readonly WorkerCommand[]): void {
    let reportedAt = performance.now();
    for (const command of commands) {
      // A sandbox that was just used is warm: the next script of the batch gets it.
      this.#recycleEnded();
      this.#execute(command);
      if (performance.now() - reportedAt < REPORT_MS) continue;
      this.#sendReports();
      reportedAt = performance.now();
    }
    this.#sendReports();
    this.#recycleEnded();
    this.#trimWhenIdle();
  }

  #sendReports(): void {
    const out = this.#reports;
    this.#reports = [];
    if (out.length > 0) this.#port.postMessage(out);
  }

  #trimWhenIdle(): void {
    if (this.#pristine.length <= MAX_WHEN_IDLE || this.#trimming !== undefined) return;
    this.#trimming = setTimeout(() => {
      this.#trimming = undefined;
      if (this.#live.size === 0) this.#pristine.length = Math.min(this.#pristine.length, MAX_WHEN_IDLE);
      else this.#trimWhenIdle();
    }, IDLE_MS).unref();
  }

  #makeSlot(): Slot {
    const { module, execute } = this.#birth;
    return new Slot(module, execute, this.#slotHost, this.#makeEngine);
  }

  #execute(command: WorkerCommand): void {
    switch (command[0]) {
      case 'run':
        return this.#start(command[1], command[2]);
      case 'settle':
        return this.#settle(command[1], command[2], command[3], command[4], command[5]);
      case 'restore':
        return this.#restore(command[1], command[2]);
      case 'capture':
        return this.#capture(command[1]);
      case 'drop':
        // defence: instances-of-breaches-are-dropped
        if (command[2]) this.#dropWhenEnded(command[1]);
        this.#end(command[1]);
        this.#pushReport(command[1], endedSegment({ type: 'cancelled', reason: 'cancelled' }), true, true);
    }
  }

  #start(run: number, begin: RunStart): void {
    if (begin.limits !== undefined) this.#lastLimits = begin.limits;
    const texts = this.#readTexts(begin.texts);
    const cached = this.#bytecodes.use(begin.sha256);
    const cacheHit = cached !== undefined;
    this.#control.enter(run);
    this.#currentSlot = begin.slot;
    const bytecode = cached ?? this.#compile(begin);
    if (!(bytecode instanceof Uint8Array)) {
      this.#control.leave();
      return this.#report(run, endedSegment(bytecode), cacheHit);
    }
    const slot = this.#takeSlot(run);
    if (slot === undefined) return this.#control.leave();
    const { cell } = begin;
    this.#live.set(run, { slot, index: begin.slot, bytes: 0, isCell: cell !== undefined, heapKey: cell?.heapKey });
    try {
      if (cell !== undefined) slot.openHeap(cell, cell.maxMemoryBytes, this.#recentHeaps.get(cell.heapKey));
    } catch (error) {
      this.#control.leave();
      return this.#report(run, endedSegment({ type: 'unrestorable', detail: String(error) }), cacheHit);
    }
    const { initText, clockMs, wallMs, sliceMs } = begin;
    const limits = this.#lastLimits!;
    const segment = slot.start({ bytecode, initText, texts, clockMs, limits, sliceMs, cell }, wallMs);
    this.#control.leave();
    this.#report(run, segment, cacheHit);
  }

  /** Restores a captured guest, which then waits for settlements as it did when it was captured. */
  #restore(run: number, { slot: index, snapshot, other, texts: sent, isCell, ...job }: RunRestore): void {
    const texts = this.#readTexts(sent);
    const slot = this.#takeSlot(run, other);
    if (slot === undefined) return;
    try {
      slot.restore(snapshot, { ...job, texts });
    } catch (error) {
      return this.#report(run, endedSegment({ type: 'unrestorable', detail: String(error) }), true);
    }
    this.#live.set(run, { slot, index, bytes: 0, isCell });
    this.#countBytes(run);
    this.#pushAnswer(run, ReportKind.restored);
  }

  #readTexts({ toolsKey, toolNames, contextJson, positions }: SentTexts): GuestTexts {
    let tools = this.#tools.use(toolsKey);
    if (tools === undefined) {
      tools = new ToolNames(toolNames ?? []);
      this.#tools.add(toolsKey, tools);
    }
    return { tools, contextJson, positions };
  }

  #capture(run: number): void {
    const running = this.#live.get(run);
    let snapshot: SlotSnapshot | undefined;
    try {
      snapshot = running?.slot.capture();
    } catch {
      // The capture failed, and the run continues.
    }
    if (snapshot !== undefined) this.#end(run);
    this.#pushAnswer(run, ReportKind.captured, snapshot === undefined ? {} : { snapshot });
  }

  /** Returns undefined if the system has no memory for a slot, and then reports that the run is refused. */
  #takeSlot(run: number, other?: ExecuteArtefacts): Slot | undefined {
    try {
      if (other === undefined) return this.#pristine.pop() ?? this.#makeSlot();
      const slot = new Slot(other.module, other.execute, this.#slotHost);
      this.#forOneScript.add(slot);
      return slot;
    } catch (error) {
      this.#pushAnswer(run, ReportKind.refused, {
        detail: `The system has no memory for a sandbox: ${String(error)}. Give this process more memory`,
      });
      return undefined;
    }
  }

  #compile({ sha256, javascript, cell }: RunStart): Uint8Array | SandboxEnd {
    const made = javascript === undefined ? internalEnd(NO_BYTECODE) : this.#compiler.compile(javascript, cell?.number);
    this.#bytecodes.add(sha256, made);
    return made;
  }

  #settle(run: number, batchJson: string, settled: number[], clockMs: number, wallMs: number): void {
    const running = this.#live.get(run);
    if (running === undefined) {
      // The run ended before this command arrived. The worker must answer every command nevertheless.
      this.#pushReport(run, endedSegment({ type: 'cancelled', reason: 'cancelled' }), true, false);
      return;
    }
    this.#control.enter(run);
    this.#currentSlot = running.index;
    const segment = running.slot.settle(batchJson, settled, clockMs, wallMs);
    this.#control.leave();
    this.#report(run, segment, true);
  }

  /** Marks the run's slot, so that it is dropped after the run and no other run uses it. */
  #dropWhenEnded(run: number): void {
    const running = this.#live.get(run);
    if (running !== undefined) this.#forOneScript.add(running.slot);
  }

  #end(run: number): void {
    const running = this.#live.get(run);
    if (running === undefined) return;
    this.#live.delete(run);
    this.#grownBytes -= running.bytes;
    this.#endedSlots.push(running.slot);
  }

  /**
   * Recycles or drops the slots of ended runs. The thread calls this method before each command of a batch, and after
   * it has sent the batch's last report.
   */
  #recycleEnded(): void {
    while (this.#endedSlots.length > 0) {
      const slot = this.#endedSlots.pop()!;
      if (!this.#forOneScript.has(slot) && slot.recycle()) {
        if (this.#pristine.length < MAX_PRISTINE) this.#pristine.push(slot);
      } else {
        this.#droppedCount++;
        this.#droppedBytes += slot.memoryBytes;
      }
    }
  }

  #report(run: number, segment: SlotSegment, cacheHit: boolean): void {
    this.#countBytes(run);
    const heap = this.#finishCell(run, segment);
    if (segment.ended) this.#end(run);
    this.#pushReport(run, segment, cacheHit, false, heap);
  }

  /** The memory for the next script of the program; undefined unless a script of a program has ended by itself. */
  #finishCell(run: number, { ended, moved, end }: SlotSegment): SlotHeap | undefined {
    const running = this.#live.get(run);
    if (running?.isCell !== true || !ended || moved === true) return undefined;
    const heap = end === undefined || end.type === 'stalled' ? running.slot.finishCell() : undefined;
    // The memory of another release's image is never known by its differences alone.
    if (heap !== undefined && !this.#forOneScript.has(running.slot)) {
      const key = nextHeapKey(heap.isDelta ? (running.heapKey ?? '') : '', heap.memory);
      const others = [...this.#live.values()].filter((live) => live !== running);
      const isUsed = (memory: Uint8Array) => others.some(({ slot }) => slot.startedFrom(memory));
      const spare = this.#recentHeaps.makeRoom(running.slot.copyBytes, isUsed);
      this.#recentHeaps.put(key, running.slot.copyMemory(spare));
    }
    return heap;
  }

  #pushReport(run: number, segment: SlotSegment, cacheHit: boolean, released: boolean, heap?: SlotHeap): void {
    const { ended, end, moved, unhandled, unobservable } = segment;
    const kind =
      (moved === true ? ReportKind.moved : ended ? ReportKind.ended : 0) |
      (released ? ReportKind.released : 0) |
      (cacheHit ? ReportKind.cacheHit : 0);
    const report: WorkerReport = [run, kind, segment.text, segment.computeMs, segment.memoryBytes];
    const isPlain = heap === undefined && end === undefined && unhandled.length === 0 && unobservable.length === 0;
    if (!isPlain || this.#reportedBytes !== this.#grownBytes || this.#reportedDropped !== this.#droppedCount) {
      report.push({ end, unhandled, unobservable, ...this.#memory(), heap });
      this.#reportedBytes = this.#grownBytes;
      this.#reportedDropped = this.#droppedCount;
    }
    this.#reports.push(report);
  }

  /** Adds an answer that reports no segment. */
  #pushAnswer(run: number, kind: number, said: Pick<ReportRest, 'snapshot' | 'detail'> = {}): void {
    const rest = { end: undefined, unhandled: [], unobservable: [], ...this.#memory(), ...said };
    this.#reports.push([run, kind, '', 0, 0, rest]);
  }

  #memory() {
    return { dropped: this.#droppedCount, droppedBytes: this.#droppedBytes, grownBytes: this.#grownBytes };
  }

  #countBytes(run: number): void {
    const running = this.#live.get(run);
    if (running === undefined) return;
    const bytes = Math.floor(running.slot.grownBytes / GROWTH_STEP) * GROWTH_STEP;
    this.#grownBytes += bytes - running.bytes;
    running.bytes = bytes;
  }
}

function endedSegment(end: SandboxEnd): SlotSegment {
  return { text: '', end, ended: true, unhandled: [], unobservable: [], computeMs: 0, memoryBytes: 0 };
}

/**
 * The sentence of `internalFault`. This thread does not import that function, because it loads no module outside the
 * sandbox's folder.
 */
const NO_BYTECODE =
  'The worker thread has no bytecode of a script that it has compiled. This is a fault of Toolscript; please report it with this message.';

function internalEnd(detail: string): SandboxEnd {
  return { type: 'internal', detail };
}
