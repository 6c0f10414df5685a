import type { SandboxEnd } from '@toolscript/core/ports';
import type { IsolateStart, SegmentFigures } from './messages.js';

/**
 * One script in one isolate, which no other script ever uses. Guest code runs on threads of isolated-vm; this thread
 * starts it, reads the clocks, and disposes of the isolate when the script reaches a limit.
 */

/** The interval at which the clocks of a running segment are compared with its limits, in ms. */
const LOOK_MS = 20;
/** Heap of an isolate for the guest's own code and data, in addition to the script's. */
const GUEST_HEAP_MB = 8;
const MAX_TEXT_UNITS = 8_192;

/** An isolate with the guest in it. */
export interface BootedIsolate {
  readonly memoryMb: number;
  readonly isolate: Isolate;
  readonly context: Context;
  readonly entries: Readonly<Record<'begin' | 'start' | 'settle' | 'flush', Reference>>;
  readonly heapBytes: number;
}

export async function bootIsolate(ivm: IsolatedVm, guest: string, memoryMb: number): Promise<BootedIsolate> {
  const isolate = new ivm.Isolate({ memoryLimit: memoryMb + GUEST_HEAP_MB });
  const context = await isolate.createContext();
  const makeGuest = await context.eval(guest, { filename: 'toolscript', reference: true });
  const made = (await makeGuest.apply(undefined, [], { result: { reference: true } })) as Reference;
  const entry = (name: string) => made.get(name, { reference: true });
  const [begin, start, settle, flush] = await Promise.all([
    entry('begin'),
    entry('start'),
    entry('settle'),
    entry('flush'),
  ]);
  return { memoryMb, isolate, context, entries: { begin, start, settle, flush }, heapBytes: isolateHeap(isolate) };
}

function isolateHeap(isolate: Isolate): number {
  const { used_heap_size: heap, externally_allocated_size: external } = isolate.getHeapStatisticsSync();
  return heap + external;
}

export interface IsolateSegment {
  readonly text: string;
  readonly figures: SegmentFigures;
}

/** Records which runs execute, and detects that the process uses more memory than these runs may. */
export interface MemoryWatch {
  enter(run: IsolateRun): void;
  leave(run: IsolateRun): void;
  isOver(): boolean;
}

export class IsolateRun {
  readonly #bootedIsolate: BootedIsolate;
  readonly #computeMs: number;
  readonly #memory: MemoryWatch;
  #segmentStart: Clocks;
  #earlierMs = 0;
  #stopEnd: SandboxEnd | undefined;
  #execution: Promise<unknown> = Promise.resolve();
  #signalStop: (text: string) => void = () => {};
  readonly #stopping = new Promise<string>((resolve) => (this.#signalStop = resolve));
  #memoryBytes = 0;
  #lastUsedMs = 0;

  constructor(booted: BootedIsolate, computeMs: number, memory: MemoryWatch) {
    this.#memory = memory;
    this.#bootedIsolate = booted;
    this.#computeMs = computeMs;
    this.#segmentStart = clocks(booted.isolate);
  }

  get memoryBytes(): number {
    return this.#bootedIsolate.memoryMb * 1_048_576;
  }

  start({ javascript, initText, textsJson, clockMs, wallMs }: IsolateStart): Promise<IsolateSegment> {
    const { isolate, context, entries } = this.#bootedIsolate;
    return this.#segment(wallMs, async () => {
      const compiling = isolate.compileScript(javascript, { filename: 'script.ts' }).catch((error: unknown) => {
        this.#stopEnd ??= syntaxEnd(error);
        throw error;
      });
      // Both promises reject if the isolate is disposed of before they settle.
      const beginning = entries.begin.apply(undefined, [clockMs, initText, textsJson]);
      const [compiled] = await Promise.all([compiling, beginning]);
      const script = await compiled.run(context, { reference: true });
      await this.#enter(() => entries.start.apply(undefined, [script.derefInto()]));
    });
  }

  settle(batchJson: string, clockMs: number, wallMs: number): Promise<IsolateSegment> {
    const { entries } = this.#bootedIsolate;
    return this.#segment(wallMs, () => this.#enter(() => entries.settle.apply(undefined, [clockMs, batchJson])));
  }

  /** Stops the script, and resolves when none of its code runs any longer. */
  async drop(): Promise<void> {
    this.#stop({ type: 'cancelled', reason: 'cancelled' });
    await this.#execution;
  }

  #unhandledRejections: SegmentFigures['unhandled'][number][] = [];

  /**
   * Calls an entry of the guest. If a rejection without a handler is pending afterwards, isolated-vm rejects the call
   * with the same reason, although the call itself is complete.
   */
  async #enter(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (this.#bootedIsolate.isolate.isDisposed) throw error;
      this.#unhandledRejections.push(describe(error));
    }
  }

  /**
   * Runs a segment. Resolves when the script's code has run or was stopped. V8 cannot stop some of its own loops at
   * once (sorting, regular expressions), so the code may still run after the stop; `drop` waits for the code.
   */
  async #segment(wallMs: number, act: () => Promise<void>): Promise<IsolateSegment> {
    this.#unhandledRejections = [];
    this.#startClock();
    const wallDeadline = performance.now() + wallMs;
    const watch = setInterval(() => this.#look(wallDeadline), LOOK_MS);
    this.#memory.enter(this);
    const executed = this.#execute(act);
    this.#execution = executed;
    const text = await Promise.race([executed, this.#stopping]);
    clearInterval(watch);
    this.#look(wallDeadline);
    this.#memory.leave(this);
    return { text: this.#stopEnd === undefined ? text : '', figures: this.#figures() };
  }

  async #execute(act: () => Promise<void>): Promise<string> {
    try {
      await act();
      return String(await this.#flush());
    } catch (error) {
      this.#stopEnd ??= thrownEnd(error);
      return '';
    }
  }

  async #flush(): Promise<unknown> {
    const { entries, isolate } = this.#bootedIsolate;
    try {
      return await entries.flush.apply(undefined, []);
    } catch (error) {
      // A pending rejection replaces the result of this call, so the guest's message is lost.
      if (isolate.isDisposed) throw error;
      const problem = `The script's isolate could not send its report: ${describe(error).message}.`;
      // Core's function for such errors would load all of core into this process.
      throw new Error(`${problem} This is a fault of Toolscript; please report it with this message.`, {
        cause: error,
      });
    }
  }

  #look(wallDeadline: number): void {
    if (this.#stopEnd !== undefined) return;
    // defence: isolate-computing-ends
    if (this.#usedMs() > this.#computeMs) this.#stop({ type: 'limit', limit: 'compute' });
    else if (performance.now() > wallDeadline) this.#stop({ type: 'limit', limit: 'wall' });
    else if (this.#memory.isOver()) this.#stop({ type: 'limit', limit: 'memory' });
  }

  #stop(end: SandboxEnd): void {
    this.#stopEnd ??= end;
    if (!this.#bootedIsolate.isolate.isDisposed) this.#bootedIsolate.isolate.dispose();
    this.#signalStop('');
  }

  /**
   * Processor time of the script so far. The isolate's clock also counts the time that its thread waits on a busy
   * machine. The process's clock does not count such waits, but counts other scripts. So the script is charged the
   * lesser of the two times.
   */
  #usedMs(): number {
    const { isolate } = this.#bootedIsolate;
    if (isolate.isDisposed) return this.#lastUsedMs;
    const own = Number(isolate.cpuTime - this.#segmentStart.isolate) / 1e6;
    const { user, system } = process.cpuUsage(this.#segmentStart.process);
    this.#lastUsedMs = this.#earlierMs + Math.min(own, (user + system) / 1_000);
    return this.#lastUsedMs;
  }

  #startClock(): void {
    this.#earlierMs = this.#lastUsedMs;
    this.#segmentStart = clocks(this.#bootedIsolate.isolate);
  }

  #figures(): SegmentFigures {
    const { isolate, heapBytes } = this.#bootedIsolate;
    if (!isolate.isDisposed) this.#memoryBytes = Math.max(this.#memoryBytes, isolateHeap(isolate) - heapBytes);
    return {
      computeMs: this.#usedMs(),
      memoryBytes: this.#memoryBytes,
      unhandled: this.#unhandledRejections,
      end: this.#stopEnd,
    };
  }
}

interface Clocks {
  readonly isolate: bigint;
  readonly process: NodeJS.CpuUsage;
}

function clocks(isolate: Isolate): Clocks {
  return { isolate: isolate.isDisposed ? 0n : isolate.cpuTime, process: process.cpuUsage() };
}

function describe(error: unknown): { name: string; message: string } {
  if (!(error instanceof Error)) return { name: '', message: String(error).slice(0, MAX_TEXT_UNITS) };
  return { name: String(error.name).slice(0, MAX_TEXT_UNITS), message: String(error.message).slice(0, MAX_TEXT_UNITS) };
}

function thrownEnd(error: unknown): SandboxEnd {
  const { name, message } = describe(error);
  if (message.includes('memory limit')) return { type: 'limit', limit: 'memory' };
  return { type: 'internal', detail: `${name}: ${message}` };
}

/** The message ends with the position, as `[script.ts:LINE:COLUMN]`. */
function syntaxEnd(error: unknown): SandboxEnd {
  const { name, message } = describe(error);
  if (name !== 'SyntaxError') return thrownEnd(error);
  const place = / \[script\.ts:(\d+):\d+\]$/u.exec(message);
  return { type: 'syntax', message: message.slice(0, place?.index), line: Number(place?.[1] ?? 1) };
}

/**
 * The part of the package isolated-vm that Toolscript uses. The package is optional, so this file cannot import its
 * types.
 */
export interface IsolatedVm {
  readonly Isolate: new (options: { memoryLimit: number; onCatastrophicError?: (() => void) | undefined }) => Isolate;
}

interface Isolate {
  readonly cpuTime: bigint;
  readonly isDisposed: boolean;
  createContext(): Promise<Context>;
  compileScript(code: string, options: { filename: string }): Promise<Script>;
  getHeapStatisticsSync(): { used_heap_size: number; externally_allocated_size: number };
  /** Stops the isolate's code, even in an endless loop. */
  dispose(): void;
}

interface Context {
  eval(code: string, options: { filename: string; reference: true }): Promise<Reference>;
}

interface Script {
  run(context: Context, options: { reference: true }): Promise<Reference>;
}

interface Reference {
  get(name: string, options: { reference: true }): Promise<Reference>;
  apply(receiver: undefined, values: readonly unknown[], options?: { result: { reference: true } }): Promise<unknown>;
  derefInto(): unknown;
}
