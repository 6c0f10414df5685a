import type { GuestThrow, SandboxEnd, SandboxLimits } from '../../protocol/index.js';
import { NO_PLACE, PlaceReader, type CodePlace } from './call-sites.js';
import { ComputeClock } from './compute-clock.js';
import { Engine, EngineError, type EngineHost, type EngineValue } from './driver.js';
import { answerGuest, type GuestTexts } from './guest-texts.js';
import { HEADROOM_PAGES, loadImage, type Image } from './image.js';
import { frameSegment, GuestBreach, parseGuestThrow, readOutbox, saysEnded, type GuestEnd } from './outbox.js';
import { isUnobservable, probePromise } from './reactions.js';
import { captureMemory, copyMemory, loadMemory, restoreMemory, SnapshotError } from './snapshot.js';
import { WASM_PAGE, type WasmModule } from './webassembly.js';

/**
 * One sandbox: one WebAssembly instance that runs one script at a time, from a pristine guest each time.
 *
 * States: pristine → (`start` or `restore`) live → … (`settle`) … → ended → (`recycle`) pristine, or dropped. Between
 * `start`, each `settle` and the end, the guest is paused and can be captured. A limit or a trap inside a segment
 * unwinds the engine, so the instance cannot be reused.
 */

export interface SlotJob {
  bytecode: Uint8Array;
  initText: string;
  texts: GuestTexts;
  clockMs: number;
  limits: SandboxLimits;
  /** Maximum time for which the script may compute while others wait for the thread, in ms. */
  sliceMs: number;
  cell?: SlotCell | undefined;
}

/** The memory in which a script of a program starts. */
export interface SlotCell {
  /** The number of the script in its program, from 1. */
  number: number;
  /** See `snapshot.ts`: the difference from the image, then the differences from it in turn. */
  heap: readonly Uint8Array[];
  /** Whether the script's own memory is captured as a difference from `heap`. */
  isDelta: boolean;
}

/** The memory that a script left for the next script of its program. */
export interface SlotHeap {
  memory: Uint8Array;
  /** Whether `memory` is the difference from the memory in which the script started, and not from the image. */
  isDelta: boolean;
  /** The guest's JSON; see `finishCell` of the bridge. */
  scopeJson: string;
  heapBytes: number;
}

/** The part of a job that a restored script needs again. */
export interface RestoredJob extends Pick<SlotJob, 'texts' | 'limits' | 'sliceMs'> {
  /** Maximum memory of one sandbox. */
  maxMemoryBytes: number;
}

/**
 * The result of one segment. `text` is the guest's outbox in its frame (see `outbox.ts`); empty if the guest wrote
 * nothing, or if the host stopped the segment.
 */
export interface SlotSegment {
  text: string;
  /** Set if the host ended the script, or found that a limit ended it. The guest's own end is in `text`. */
  end?: SandboxEnd | undefined;
  ended: boolean;
  /** True if the segment was discarded so that other scripts can run. The script must start over on another worker. */
  moved?: boolean | undefined;
  unhandled: readonly GuestThrow[];
  unobservable: readonly number[];
  computeMs: number;
  memoryBytes: number;
}

/** The questions that a sandbox asks its host while its script runs. */
export interface SlotHost {
  isCancelled(): 'cancelled' | 'timeout' | undefined;
  /**
   * True if other scripts share this thread, so that a script that computes for a long time must move to another
   * worker.
   */
  mustMakeRoom(): boolean;
}

/** Creates the engine of a sandbox. Tests pass a function whose engine runs out of memory or stack on demand. */
export type MakeEngine = (module: WasmModule, host: EngineHost) => Engine;

const newEngine: MakeEngine = (module, host) => new Engine(module, host);

/** A paused script as data: everything that `restore` needs besides the image. */
export interface SlotSnapshot {
  /** See `snapshot.ts`. */
  readonly memory: Uint8Array;
  readonly clockMs: number;
  readonly computeLeftMs: number;
  readonly peakHeap: number;
  readonly nextCall: number;
  readonly waiting: readonly number[];
  readonly racing: readonly number[];
  /** Promises rejected without a handler, and their reasons. */
  readonly rejections: readonly (readonly [promise: EngineValue, reason: EngineValue])[];
  /** Whether the engine had run out of memory or stack before the capture. */
  readonly ranOutOf: { readonly memory: boolean; readonly stack: boolean };
  /** The engine's name of the script's file, if the script belongs to a program; see `PlaceReader`. */
  readonly file?: number | undefined;
}

/** Maximum number of unhandled rejections that are kept for the report. */
const MAX_REJECTIONS = 100;
/** Maximum time in which the memory of a script that has ended is made ready for the next script, in ms. */
const FINISH_MS = 1_000;

/** Thrown through the engine to stop a segment. */
class SegmentStopped extends Error {
  constructor(readonly reason: 'compute' | 'wall' | 'cancelled' | 'timeout' | 'moved') {
    super(reason);
  }
}

export class Slot {
  readonly #image: Image;
  readonly #engine: Engine;
  readonly #slotHost: SlotHost;
  #clockMs = 0;
  #computeLeftMs = 0;
  readonly #clock = new ComputeClock();
  #wallDeadline = 0;
  #sliceMs = 0;
  #sliceEnd = 0;
  #peakHeap = 0;
  #waiting = new Set<number>();
  #nextCall = 0;
  /** The places of the calls that the segment has made so far. */
  #places: CodePlace[] = [];
  #placeReader: PlaceReader | undefined;
  #limits: SandboxLimits | undefined;
  #texts: GuestTexts | undefined;
  #racing = new Set<number>();
  #rejections = new Map<number, { promise: EngineValue; reason: EngineValue }>();
  #memoryErrors = 0;
  #stackErrors = 0;
  #isBroken = false;
  /** True after the end of a script, whose code may run once more. */
  #isSealed = false;
  #grownAtStart = 0;
  /** The memory from which the script's own is captured as a difference. */
  #base: Uint8Array | undefined;

  constructor(module: WasmModule, image: Image, host: SlotHost, makeEngine: MakeEngine = newEngine) {
    this.#image = image;
    this.#slotHost = host;
    const { callSite } = image.header.layout;
    this.#placeReader = callSite === undefined ? undefined : new PlaceReader(callSite);
    this.#engine = makeEngine(module, this.#host());
    loadImage(this.#engine, image);
  }

  start(job: SlotJob, wallMs: number): SlotSegment {
    this.#limits = job.limits;
    this.#texts = job.texts;
    this.#sliceMs = job.sliceMs;
    this.#clockMs = job.clockMs;
    this.#computeLeftMs = job.limits.computeMs;
    this.#peakHeap = 0;
    this.#nextCall = 0;
    this.#waiting.clear();
    this.#racing.clear();
    this.#rejections.clear();
    this.#memoryErrors = this.#engine.raw.toolscript_oom.value;
    this.#stackErrors = this.#engine.raw.toolscript_stack.value;
    return this.#segment(wallMs, () => {
      const { entries } = this.#image.header;
      const engine = this.#engine;
      engine.raw.qjs_set_memory_limit(job.limits.memoryMb * 1_048_576);
      engine.raw.qjs_set_max_stack_size(job.limits.maxStackBytes);
      engine.callWithText(entries.begin, job.initText);
      const script = engine.evaluate(job.bytecode);
      if (job.cell !== undefined) this.#placeReader?.onlyFileOf(engine.raw.qjs_get_value_ptr(script), engine.words());
      engine.raw.qjs_free_value(engine.call(job.cell === undefined ? entries.start : entries.startCell, script));
      engine.raw.qjs_free_value(script);
    });
  }

  /**
   * Restores the memory in which a script of a program starts. Call it before `start`. `copy`: this memory as it is, if
   * it is known. Throws a `SnapshotError`.
   */
  openHeap({ heap, isDelta }: SlotCell, maxMemoryBytes: number, copy?: Uint8Array): void {
    this.#isBroken = true;
    if (copy === undefined) for (const part of heap) restoreMemory(this.#engine, this.#image, part, maxMemoryBytes);
    else loadMemory(this.#engine, this.#image, copy);
    this.#base = isDelta ? (copy ?? copyMemory(this.#engine)) : undefined;
    this.#grownAtStart = this.grownBytes;
    this.#isBroken = false;
  }

  /**
   * Captures the memory for the next script of the program, after a script has ended by itself. Returns undefined if no
   * next script can start in it.
   */
  finishCell(): SlotHeap | undefined {
    if (this.#isBroken) return undefined;
    const engine = this.#engine;
    const base = this.#base;
    try {
      const scopeJson = this.#sealed(() => engine.callForText(this.#image.header.entries.finishCell));
      const { bytes: memory } = captureMemory(engine, this.#image, base);
      return {
        memory,
        isDelta: base !== undefined,
        scopeJson,
        heapBytes: engine.words()[this.#image.header.layout.heapSize >> 2]!,
      };
    } catch {
      this.#isBroken = true;
      return undefined;
    }
  }

  /** A copy of the memory that `finishCell` captured. */
  copyMemory(): Uint8Array {
    return copyMemory(this.#engine);
  }

  /** The script has ended: its callbacks of collected objects may still run, under a clock, and can make no call. */
  #sealed(finish: () => string): string {
    const engine = this.#engine;
    this.#clock.start(FINISH_MS);
    this.#wallDeadline = this.#clock.startedAt + FINISH_MS * 10;
    this.#sliceEnd = Number.POSITIVE_INFINITY;
    this.#places = [];
    this.#isSealed = true;
    try {
      this.#freeRejections();
      const text = finish();
      // Walking a large heap takes long, and a heap that has not grown has little garbage.
      if (this.grownBytes > this.#grownAtStart) engine.raw.qjs_run_gc();
      engine.runJobs(() => this.#check());
      this.#freeRejections();
      return text;
    } finally {
      this.#isSealed = false;
    }
  }

  #freeRejections(): void {
    for (const { promise, reason } of this.#rejections.values()) {
      this.#engine.raw.qjs_free_value(promise);
      this.#engine.raw.qjs_free_value(reason);
    }
    this.#rejections.clear();
  }

  /**
   * Runs a segment that settles calls. `batchJson` is a list of `[callIndex, 1, value]` and `[callIndex, stack, code,
   * message, data?]`.
   */
  settle(batchJson: string, settled: readonly number[], clockMs: number, wallMs: number): SlotSegment {
    this.#clockMs = clockMs;
    for (const index of settled) {
      this.#waiting.delete(index);
      this.#racing.delete(index);
    }
    return this.#segment(wallMs, () => this.#engine.callWithText(this.#image.header.entries.settle, batchJson));
  }

  /**
   * Captures the paused script. Call this function only between two segments. The script can continue in this slot
   * afterwards.
   */
  capture(): SlotSnapshot {
    const { raw } = this.#engine;
    if (raw.__stack_pointer.value !== this.#image.header.stackPointer)
      throw new SnapshotError('the script is executing', 'Capture the script between two segments.');
    return {
      memory: captureMemory(this.#engine, this.#image).bytes,
      clockMs: this.#clockMs,
      computeLeftMs: this.#computeLeftMs,
      peakHeap: this.#peakHeap,
      nextCall: this.#nextCall,
      file: this.#placeReader?.file,
      waiting: [...this.#waiting],
      racing: [...this.#racing],
      rejections: [...this.#rejections.values()].map(({ promise, reason }) => [promise, reason]),
      ranOutOf: {
        memory: this.#ranOutOfMemory,
        stack: this.#ranOutOfStack,
      },
    };
  }

  /**
   * Restores a captured script. Call this function instead of `start`, in a pristine slot of the same engine and image.
   * Throws a `SnapshotError`.
   */
  restore(snapshot: SlotSnapshot, job: RestoredJob): void {
    const { maxMemoryBytes } = job;
    // Until the restore is complete, the slot holds a partial guest.
    this.#isBroken = true;
    this.#limits = job.limits;
    this.#texts = job.texts;
    this.#sliceMs = job.sliceMs;
    this.#placeReader?.clear();
    restoreMemory(this.#engine, this.#image, snapshot.memory, maxMemoryBytes);
    if (this.#placeReader !== undefined) this.#placeReader.file = snapshot.file ?? 0;
    const { raw } = this.#engine;
    this.#clockMs = snapshot.clockMs;
    this.#computeLeftMs = snapshot.computeLeftMs;
    this.#peakHeap = snapshot.peakHeap;
    this.#nextCall = snapshot.nextCall;
    this.#waiting = new Set(snapshot.waiting);
    this.#racing = new Set(snapshot.racing);
    this.#rejections = new Map(
      snapshot.rejections.map(([promise, reason]) => [raw.qjs_get_value_ptr(promise), { promise, reason }]),
    );
    this.#memoryErrors = raw.toolscript_oom.value - (snapshot.ranOutOf.memory ? 1 : 0);
    this.#stackErrors = raw.toolscript_stack.value - (snapshot.ranOutOf.stack ? 1 : 0);
    this.#isBroken = false;
  }

  /** Restores the pristine guest. Returns false if the instance must be dropped. */
  recycle(): boolean {
    this.#placeReader?.clear();
    this.#base = undefined;
    this.#grownAtStart = 0;
    // defence: broken-or-grown-instances-are-dropped
    if (this.#isBroken || this.memoryBytes > (this.#image.header.pages + HEADROOM_PAGES) * WASM_PAGE) return false;
    loadImage(this.#engine, this.#image);
    return true;
  }

  /** A view of the current linear memory, for tests. */
  inspectMemory(): Uint8Array {
    return this.#engine.memory();
  }

  get memoryBytes(): number {
    return this.#engine.raw.memory.buffer.byteLength;
  }

  /** Bytes of the guest's heap beyond the image. */
  get grownBytes(): number {
    return (this.#engine.raw.toolscript_pages.value - this.#image.header.pages) * WASM_PAGE;
  }

  #host(): EngineHost {
    return {
      clockMs: () => this.#clockMs,
      interrupt: () => this.#check(),
      rejection: (promise, reason, handled) => this.#noteRejection(promise, reason, handled),
      called: () => this.#noteCall(),
      asked: (question) => this.#answer(question),
    };
  }

  /** Answers a question of the guest. A script that causes many questions computes for as long as the answers take. */
  #answer(question: string): string {
    this.#check();
    return this.#texts === undefined ? '' : answerGuest(question, this.#texts);
  }

  /** Records a call while it is made, independently of the guest's report. */
  #noteCall(): void {
    // defence: calls-are-bounded-by-the-host
    if (
      this.#isSealed ||
      this.#limits === undefined ||
      this.#nextCall + this.#places.length >= maxSlotCalls(this.#limits)
    )
      throw new GuestBreach('the script made more calls than its limit allows');
    this.#places.push(this.#placeReader?.read(this.#engine.words(), this.#engine.memory()) ?? NO_PLACE);
  }

  /** Keeps references to both values, because the next promise could get the address of a freed one. */
  #noteRejection(promise: EngineValue, reason: EngineValue, handled: boolean): void {
    const { raw } = this.#engine;
    const key = raw.qjs_get_value_ptr(promise);
    if (!handled && this.#rejections.size < MAX_REJECTIONS && !this.#rejections.has(key)) {
      this.#rejections.set(key, { promise, reason });
      return;
    }
    const known = handled ? this.#rejections.get(key) : undefined;
    this.#rejections.delete(key);
    for (const value of [promise, reason, known?.promise, known?.reason])
      if (value !== undefined) raw.qjs_free_value(value);
  }

  #check(): void {
    const now = performance.now();
    this.#notePeak();
    // defence: compute-clock-stops-a-loop
    if (this.#clock.look(now)) throw new SegmentStopped('compute');
    // defence: wall-clock-stops-a-loop
    if (now > this.#wallDeadline) throw new SegmentStopped('wall');
    const cancelled = this.#slotHost.isCancelled();
    // defence: cancel-stops-a-loop
    if (cancelled !== undefined) throw new SegmentStopped(cancelled);
    if (now > this.#sliceEnd && this.#slotHost.mustMakeRoom()) this.#endSlice(now);
  }

  /**
   * Stops the segment if the script has used its slice. Counts only the time that the script used, not the time that
   * its thread waited on a busy machine.
   */
  #endSlice(now: number): void {
    const left = this.#sliceMs - this.#clock.usedMs(now);
    if (left <= 0) throw new SegmentStopped('moved');
    this.#sliceEnd = now + left;
  }

  #notePeak(): void {
    const used = this.#engine.words()[this.#image.header.layout.heapSize >> 2]!;
    if (used > this.#peakHeap) this.#peakHeap = used;
  }

  #segment(wallMs: number, enter: () => void): SlotSegment {
    this.#clock.start(this.#computeLeftMs);
    this.#wallDeadline = this.#clock.startedAt + wallMs;
    this.#sliceEnd = this.#clock.startedAt + this.#sliceMs;
    this.#places = [];
    let segment: SlotSegment;
    try {
      enter();
      this.#engine.runJobs(() => this.#check());
      segment = this.#report(this.#engine.callForText(this.#image.header.entries.flush));
    } catch (error) {
      this.#isBroken = true;
      segment = isMove(error)
        ? { ...this.#endedSegment(undefined), moved: true }
        : this.#endedSegment(this.#classify(error));
    }
    const spent = this.#clock.usedMs(performance.now());
    this.#computeLeftMs -= spent;
    this.#notePeak();
    segment.computeMs = spent;
    segment.memoryBytes = this.#peakHeap;
    return segment;
  }

  #endedSegment(end: SandboxEnd | undefined): SlotSegment {
    const why = end === undefined ? {} : { end };
    return { text: '', ...why, ended: true, unhandled: [], unobservable: [], computeMs: 0, memoryBytes: 0 };
  }

  #report(text: string): SlotSegment {
    const firstCall = this.#nextCall;
    const framed = frameSegment(firstCall, this.#places, text);
    const segment: SlotSegment = {
      text: framed,
      ended: false,
      unhandled: [],
      unobservable: [],
      computeMs: 0,
      memoryBytes: 0,
    };
    if (text === '' && this.#places.length > 0)
      throw new GuestBreach('the guest does not report the calls that it made');
    this.#nextCall += this.#places.length;
    for (let index = firstCall; index < this.#nextCall; index++) this.#waiting.add(index);
    if (saysEnded(text)) return this.#reportEnd(segment, text);
    if (this.#waiting.size === 0) {
      segment.ended = true;
      segment.unhandled = this.#unhandledThrows();
      segment.end = this.#ranOutOfMemory ? { type: 'limit', limit: 'memory' } : { type: 'stalled' };
    } else {
      segment.unobservable = this.#lostRaces();
    }
    return segment;
  }

  /** Reads the last message in the worker too: an instance whose guest breaks a rule must never be used again. */
  #reportEnd(segment: SlotSegment, text: string): SlotSegment {
    const { end } = readOutbox(text, this.#places.length, this.#limits!);
    segment.ended = true;
    segment.unhandled = this.#unhandledThrows();
    segment.unobservable = this.#lostRaces();
    const limit = this.#reachedLimit(end);
    if (limit !== undefined) segment.end = limit;
    return segment;
  }

  /**
   * The limit that ended the script, if the engine's own counters show that the engine ran out of heap or stack, and
   * the script ended with exactly that error.
   */
  #reachedLimit(end: GuestEnd | undefined): SandboxEnd | undefined {
    if (end?.type !== 'threw') return undefined;
    const { error } = end;
    // defence: memory-limit-by-the-counter
    if (error.message === 'out of memory' && this.#ranOutOfMemory) return { type: 'limit', limit: 'memory', error };
    // The engine throws null if its heap has no room for an error.
    if (error.name === '' && error.message === 'null' && this.#ranOutOfMemory)
      return { type: 'limit', limit: 'memory' };
    const isStack = error.message === 'Maximum call stack size exceeded';
    // defence: stack-limit-by-the-counter
    if (isStack && this.#ranOutOfStack) return { type: 'limit', limit: 'stack', error };
    return undefined;
  }

  /** True if the engine's own counter of memory failures has changed since the script started. */
  get #ranOutOfMemory(): boolean {
    return this.#engine.raw.toolscript_oom.value !== this.#memoryErrors;
  }

  get #ranOutOfStack(): boolean {
    return this.#engine.raw.toolscript_stack.value !== this.#stackErrors;
  }

  #unhandledThrows(): GuestThrow[] {
    const { entries } = this.#image.header;
    return [...this.#rejections.values()].map(({ reason }) =>
      parseGuestThrow(this.#engine.callForText(entries.describeThrown, reason)),
    );
  }

  #lostRaces(): number[] {
    const layout = this.#image.header.layout.promise;
    if (layout === undefined) return [];
    const lost: number[] = [];
    for (const index of this.#waiting) {
      if (this.#racing.has(index)) continue;
      const probe = probePromise(this.#engine, this.#image.header.entries.promises, index, layout);
      if (probe !== undefined && isUnobservable(probe)) {
        lost.push(index);
        this.#racing.add(index);
      }
    }
    return lost;
  }

  #classify(error: unknown): SandboxEnd {
    if (error instanceof SegmentStopped && error.reason !== 'moved') {
      return error.reason === 'compute' || error.reason === 'wall'
        ? { type: 'limit', limit: error.reason }
        : { type: 'cancelled', reason: error.reason };
    }
    // defence: memory-limit-after-a-trap
    if (this.#ranOutOfMemory) return { type: 'limit', limit: 'memory' };
    // The engine's native frames overflowed the thread's stack before the engine's own check stopped the script.
    if (error instanceof RangeError) return { type: 'limit', limit: 'stack' };
    if (error instanceof EngineError && this.#ranOutOfStack) return { type: 'limit', limit: 'stack' };
    return { type: 'internal', detail: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

function maxSlotCalls({ maxCalls, maxBuiltinCalls }: SandboxLimits): number {
  return maxCalls + maxBuiltinCalls;
}

function isMove(error: unknown): boolean {
  return error instanceof SegmentStopped && error.reason === 'moved';
}
