import type {
  RuntimeFeature,
  SandboxEnd,
  SandboxJob,
  SandboxObserver,
  SandboxRun,
  SandboxRuntime,
  SandboxStats,
  Settlement,
} from '@toolscript/core/ports';
import {
  endSegment,
  FairQueue,
  PROTOCOL_VERSION,
  ToolNames,
  settlementBatch,
  writeInit,
} from '@toolscript/core/internal';
import { SandboxProcess } from './child-process.js';
import { isolatedVmFile } from './own-files.js';
import { IsolateLive, readReport } from './live.js';
import type { ChildReport, SegmentFigures } from './messages.js';

export interface IsolatedVmOptions {
  /** Maximum number of live scripts, each in a separate isolate. Further scripts wait. Default 64. */
  maxScripts?: number | undefined;
  /** Maximum number of scripts that wait. Default 10 000. */
  maxWaiting?: number | undefined;
  /** The main file of the package isolated-vm. Default: the file that this package would import. */
  modulePath?: string | undefined;
}

/**
 * Maximum time for which a segment may exceed its limits, or a cancelled script may continue, before the pool kills the
 * process, in ms.
 */
const OVERDUE_MS = 1_000;
/** Maximum number of processes for scripts that may have ended a process; each of these scripts runs alone. */
const MAX_SOLITARY = 2;
/**
 * Signals that nearly always mean that memory is full: V8 aborts with the first three, and the system kills the process
 * with SIGKILL.
 */
const FATAL_SIGNALS: ReadonlySet<string | null> = new Set(['SIGTRAP', 'SIGABRT', 'SIGILL', 'SIGKILL']);

/** The optional features of a runtime that isolated-vm does not have. */
export const ISOLATED_VM_LACKS: readonly RuntimeFeature[] = ['lost-races'];

/**
 * Runs scripts on V8, each in a fresh isolate of the package isolated-vm, in a child process without environment
 * variables.
 *
 * A script can end that process, because V8 aborts if it cannot allocate memory. If only one script was executing, that
 * script is the cause, and ends. If several were executing, each starts again in a separate process and replays its
 * tape; the scripts that only waited for tools start again in a new shared process. No script can observe the restart.
 */
export class IsolatedVmPool implements SandboxRuntime {
  readonly name = 'isolated-vm';
  readonly bridge = { version: PROTOCOL_VERSION, known: [PROTOCOL_VERSION] };
  readonly lacks = ISOLATED_VM_LACKS;
  readonly #modulePath: string;
  readonly #maxScripts: number;
  readonly #runs = new Map<number, IsolateLive>();
  readonly #waiting: FairQueue<IsolateLive>;
  readonly #processes = new Set<SandboxProcess>();
  readonly #suspects: IsolateLive[] = [];
  #nextKey = 0;
  #isClosed = false;
  #completedCount = 0;
  #replacedCount = 0;
  #failedStarts = 0;

  /** Throws a `ToolscriptUsageError` if `modulePath` is not set and the package is not installed. */
  constructor(options: IsolatedVmOptions = {}) {
    this.#modulePath = options.modulePath ?? isolatedVmFile();
    this.#maxScripts = options.maxScripts ?? 64;
    this.#waiting = new FairQueue(options.maxWaiting ?? 10_000);
  }

  warm(): Promise<void> {
    return this.#isClosed ? Promise.resolve() : this.#sharedProcess().ready;
  }

  run(job: SandboxJob, observer: SandboxObserver): SandboxRun {
    const run = new IsolateLive(this, this.#nextKey++, job, observer);
    if (this.#isClosed) queueMicrotask(() => this.#end(run, { type: 'cancelled', reason: 'cancelled' }));
    else if (this.#runs.size < this.#maxScripts && this.#waiting.size === 0) this.#begin(run);
    else this.#wait(run);
    return run;
  }

  settle(run: IsolateLive, settlements: readonly Settlement[], clockMs: number, wallMs: number): void {
    if (run.state !== 'running') return;
    const settled = settlements.map(({ callIndex }) => callIndex);
    run.tape.push({ batchJson: settlementBatch(settlements), settled, clockMs });
    run.wallMs = wallMs;
    if (run.process !== undefined && !run.isExecuting) this.#sendNext(run);
  }

  cancel(run: IsolateLive, reason: 'cancelled' | 'timeout'): void {
    if (run.state !== 'ended') queueMicrotask(() => this.#end(run, { type: 'cancelled', reason }));
  }

  stats(): SandboxStats {
    const running = [...this.#runs.values()];
    const executing = running.filter(({ isExecuting }) => isExecuting).length;
    return {
      workers: this.#processes.size,
      running: running.length,
      executing,
      awaitingTools: running.length - executing,
      waiting: this.#waiting.size,
      queued: this.#waiting.size,
      completed: this.#completedCount,
      instancesDropped: 0,
      workersReplaced: this.#replacedCount,
      moved: 0,
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (let run = this.#waiting.peek(); run !== undefined; run = this.#waiting.peek())
      this.#end(run, { type: 'cancelled', reason: 'cancelled' });
    for (const run of this.#runs.values()) this.#end(run, { type: 'cancelled', reason: 'cancelled' });
    await Promise.all([...this.#processes].map((process) => process.kill()));
    this.#processes.clear();
  }

  #begin(run: IsolateLive): void {
    run.state = 'running';
    this.#runs.set(run.key, run);
    run.observer.onStart();
    this.#place(run, this.#sharedProcess());
  }

  #wait(run: IsolateLive): void {
    const { principal, limits } = run.job;
    this.#waiting.add(run, { principal, waitMs: limits.queueWaitMs }, (waitedMs) =>
      this.#end(run, { type: 'busy', waitedMs }),
    );
  }

  #sharedProcess(): SandboxProcess {
    for (const process of this.#processes) if (!process.isSolitary && !process.isLost) return process;
    return this.#spawn(false);
  }

  #spawn(isSolitary: boolean): SandboxProcess {
    const handlers = {
      onReport: (report: ChildReport) => this.#receive(report),
      onLost: (how: { signal: string | null; detail: string }) => this.#recover(process, how),
    };
    const process = new SandboxProcess(this.#modulePath, handlers, isSolitary);
    this.#processes.add(process);
    return process;
  }

  #place(run: IsolateLive, process: SandboxProcess): void {
    run.process = process;
    process.add(run.key);
    const { job } = run;
    const { computeMs, memoryMb } = job.limits;
    const { javascript, clockMs, wallMs } = job;
    const texts = { initText: writeInit(job), textsJson: guestTexts(job) };
    const start = { javascript, ...texts, clockMs, wallMs, computeMs, memoryMb };
    this.#execute(run, BOOT_MS);
    process.send(['run', run.key, start]);
  }

  #sendNext(run: IsolateLive): void {
    const entry = run.tape[run.sent];
    if (entry === undefined) return;
    run.sent++;
    for (const index of entry.settled) run.pending.delete(index);
    this.#execute(run, run.wallMs);
    run.process?.send(['settle', run.key, entry.batchJson, entry.clockMs, run.wallMs]);
  }

  /** Starts the timer for a child that does not stop a segment at its limits by itself. */
  #execute(run: IsolateLive, maxMs: number): void {
    run.isExecuting = true;
    clearTimeout(run.watch);
    run.watch = setTimeout(() => this.#endHung(run), Math.min(2 ** 31 - 1, maxMs + OVERDUE_MS)).unref();
  }

  #endHung(run: IsolateLive): void {
    const { process } = run;
    this.#end(run, { type: 'limit', limit: 'wall' });
    if (process !== undefined && !process.isLost) this.#replace(process);
  }

  #receive(report: ChildReport): void {
    if (report[0] === 'dropped') return this.#onDropped(report[1]);
    if (report[0] !== 'segment' && report[0] !== 'begun') return;
    const run = this.#runs.get(report[1]);
    if (run?.isExecuting !== true) return;
    if (report[0] === 'begun') return this.#execute(run, run.job.wallMs);
    clearTimeout(run.watch);
    run.isExecuting = false;
    this.#failedStarts = 0;
    this.#deliver(run, String(report[2]), report[3]);
  }

  #deliver(run: IsolateLive, text: string, figures: SegmentFigures): void {
    try {
      const segment = readReport(run, text, figures);
      if (segment.end === undefined && run.toSkip > 0) {
        run.toSkip--;
        return this.#sendNext(run);
      }
      run.segments++;
      run.toSkip = 0;
      if (segment.end !== undefined) this.#release(run);
      run.observer.onSegment(segment);
    } catch (error) {
      this.#end(run, {
        type: 'internal',
        detail: `Toolscript cannot read the script's report: ${String(error)}`,
      });
    }
  }

  #end(run: IsolateLive, end: SandboxEnd): void {
    if (run.state === 'ended') return;
    this.#waiting.remove(run);
    this.#release(run);
    run.observer.onSegment(endSegment(end));
  }

  /** Timers of ended scripts whose isolates the child has not disposed of yet, by the keys of the runs. */
  readonly #dropping = new Map<number, NodeJS.Timeout>();

  #release(run: IsolateLive): void {
    const { process } = run;
    clearTimeout(run.watch);
    run.state = 'ended';
    run.process = undefined;
    this.#runs.delete(run.key);
    this.#completedCount++;
    const suspect = this.#suspects.indexOf(run);
    if (suspect >= 0) this.#suspects.splice(suspect, 1);
    if (process !== undefined) this.#leave(process, run.key);
    this.#serveWaiting();
  }

  #leave(process: SandboxProcess, key: number): void {
    process.remove(key);
    if (process.isLost) return;
    if (process.isSolitary) {
      this.#processes.delete(process);
      void process.kill();
      return this.#serveSuspects();
    }
    process.send(['drop', key]);
    const overdue = () => {
      this.#dropping.delete(key);
      if (!process.isLost) this.#replace(process);
    };
    // defence: isolate-that-runs-on-is-killed
    this.#dropping.set(key, setTimeout(overdue, OVERDUE_MS).unref());
  }

  #onDropped(key: number): void {
    clearTimeout(this.#dropping.get(key));
    this.#dropping.delete(key);
  }

  #serveWaiting(): void {
    for (let run = this.#waiting.peek(); run !== undefined; run = this.#waiting.peek()) {
      if (this.#isClosed || this.#runs.size >= this.#maxScripts) return;
      this.#waiting.remove(run);
      this.#begin(run);
    }
  }

  /** Kills a process that exceeded its time. The scripts of the process start over. */
  #replace(process: SandboxProcess): void {
    const affected = this.#processRuns(process);
    this.#processes.delete(process);
    void process.kill();
    this.#replacedCount++;
    for (const run of affected) this.#restart(run);
  }

  #recover(process: SandboxProcess, { signal, detail }: { signal: string | null; detail: string }): void {
    this.#processes.delete(process);
    const affected = this.#processRuns(process);
    if (this.#isClosed) return;
    this.#replacedCount++;
    if (!process.isReady && ++this.#failedStarts >= MAX_FAILED_STARTS)
      return affected.forEach((run) => this.#end(run, { type: 'internal', detail }));
    const executing = process.isReady ? affected.filter(({ isExecuting }) => isExecuting) : [];
    for (const run of affected) {
      run.process = undefined;
      if (executing.length === 1 && run === executing[0])
        this.#end(run, FATAL_SIGNALS.has(signal) ? { type: 'limit', limit: 'memory' } : { type: 'internal', detail });
      else if (executing.includes(run)) this.#isolateSuspect(run);
      else this.#restart(run);
    }
    this.#serveSuspects();
  }

  #processRuns(process: SandboxProcess): IsolateLive[] {
    return [...this.#runs.values()].filter((run) => run.process === process);
  }

  #isolateSuspect(run: IsolateLive): void {
    run.isSuspect = true;
    clearTimeout(run.watch);
    this.#suspects.push(run);
  }

  #serveSuspects(): void {
    const solitary = () => [...this.#processes].filter(({ isSolitary }) => isSolitary).length;
    while (this.#suspects.length > 0 && solitary() < MAX_SOLITARY && !this.#isClosed)
      this.#startOver(this.#suspects.shift()!, this.#spawn(true));
  }

  #restart(run: IsolateLive): void {
    if (run.isSuspect) this.#isolateSuspect(run);
    else this.#startOver(run, this.#sharedProcess());
  }

  #startOver(run: IsolateLive, process: SandboxProcess): void {
    this.#runs.delete(run.key);
    run.key = this.#nextKey++;
    this.#runs.set(run.key, run);
    run.toSkip = run.segments;
    run.sent = run.calls = 0;
    run.pending.clear();
    run.unhandled = [];
    this.#place(run, process);
  }
}

/** Maximum time to start a process and to boot the isolates of many scripts, on a busy machine, in ms. */
const BOOT_MS = 60_000;
const MAX_FAILED_STARTS = 3;

/** The texts that the guest reads when a script first needs them. */
function guestTexts({ toolNames, contextJson, positions = '' }: SandboxJob): string {
  const tools = new ToolNames(toolNames);
  return JSON.stringify({ tools: tools.tree(), context: tools.context(contextJson), positions });
}
