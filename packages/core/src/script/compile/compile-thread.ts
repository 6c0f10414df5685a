import { Worker } from 'node:worker_threads';
import { FairQueue, type QueueTurn } from '../../protocol/fair-queue.js';
import type { CompileAnswer, CompileRequest, ThreadMessage } from './compile-messages.js';

/**
 * Manages one worker thread that parses, and its replacements.
 *
 * States: `none` (no thread) → `starting` → `idle` ⇄ `busy`; `closed` is final. Jobs wait in one fair queue, and are
 * sent one at a time, so that a job's deadline counts its own work only. A thread that misses a deadline is abandoned:
 * native code cannot be interrupted, and the thread ends when that code returns. While too many abandoned threads are
 * alive, no thread is started, and jobs end with the result `busy`.
 *
 * The thread keeps the process alive only while the thread starts or handles a job.
 */
export class CompileThread {
  readonly #options: CompileThreadOptions;
  readonly #queue = new FairQueue<Job>();
  #state: State = { name: 'none' };
  #abandonedCount = 0;
  #restarts = 0;
  #everStarted = false;

  constructor(options: CompileThreadOptions) {
    this.#options = options;
  }

  /** The number of worker threads that were started after the first one. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Never rejects. The time in which the thread starts does not count as a wait. */
  run(request: CompileRequest, { principal, waitMs }: QueueTurn): Promise<ThreadResult> {
    return new Promise((resolve) => {
      if (this.#state.name === 'closed') return resolve({ type: 'closed' });
      const startMs = this.#state.name === 'none' || this.#state.name === 'starting' ? START_MS : 0;
      this.#queue.add({ request, resolve }, { principal, waitMs: waitMs + startMs }, (waitedMs) =>
        resolve({ type: 'late', waitedMs }),
      );
      this.#advance();
    });
  }

  /** Starts the thread if there is none. Resolves when the thread has started or could not be started. */
  async warm(): Promise<void> {
    if (this.#state.name === 'none') this.#start();
    if (this.#state.name === 'starting') await this.#state.started;
  }

  async close(): Promise<void> {
    const state = this.#state;
    this.#state = { name: 'closed' };
    if ('timer' in state) clearTimeout(state.timer);
    if (state.name === 'starting') state.settle();
    if (state.name === 'busy') state.job.resolve({ type: 'closed' });
    this.#refuseAll({ type: 'closed' });
    if ('worker' in state) await endedWithin(state.worker, CLOSE_MS);
  }

  // Transitions

  #advance(): void {
    if (this.#queue.size === 0) return;
    if (this.#state.name === 'none') this.#start();
    if (this.#state.name === 'idle') this.#send(this.#state.worker);
  }

  #start(): void {
    // defence: stuck-threads-are-few
    if (this.#abandonedCount >= MAX_ABANDONED) return this.#refuseAll({ type: 'busy' });
    if (this.#everStarted) this.#restarts++;
    this.#everStarted = true;
    const worker = this.#spawn();
    const timer = setTimeout(() => this.#onLost(worker, 'the thread did not start in time'), START_MS);
    const started = new Promise<void>((settle) => {
      this.#state = { name: 'starting', worker, timer, settle };
    });
    if (this.#state.name === 'starting') this.#state.started = started;
  }

  #spawn(): Worker {
    const worker = new Worker(this.#options.entry, {
      name: 'toolscript-compiler',
      argv: [],
      // defence: compile-thread-has-no-environment
      env: {},
      execArgv: [],
      stdin: false,
      stdout: true,
      stderr: true,
      // defence: compile-thread-has-limits
      resourceLimits: { stackSizeMb: STACK_MB, maxOldGenerationSizeMb: HEAP_MB },
    });
    worker.on('message', (message: ThreadMessage) => this.#onMessage(worker, message));
    worker.on('error', (error: NodeJS.ErrnoException) => {
      this.#onLost(worker, error.stack ?? String(error), error.code === 'ERR_WORKER_OUT_OF_MEMORY');
    });
    worker.on('exit', (status) => this.#onLost(worker, `the thread ended with status ${status}`));
    return worker;
  }

  #onMessage(worker: Worker, message: ThreadMessage): void {
    const state = this.#state;
    if (!('worker' in state) || state.worker !== worker) return;
    if (message.type === 'ready') {
      if (state.name === 'starting') this.#becameIdle(worker, state);
      return;
    }
    if (state.name !== 'busy') return;
    clearTimeout(state.timer);
    this.#rest(worker);
    state.job.resolve(message.type === 'answer' ? message : { type: 'broken', detail: message.detail });
    this.#advance();
  }

  #becameIdle(worker: Worker, starting: Starting): void {
    clearTimeout(starting.timer);
    this.#rest(worker);
    starting.settle();
    this.#advance();
  }

  #rest(worker: Worker): void {
    worker.unref();
    this.#state = { name: 'idle', worker };
  }

  #send(worker: Worker): void {
    const job = this.#queue.next();
    if (job === undefined) return;
    // defence: compile-deadline
    const timer = setTimeout(() => this.#deadline(worker, job), this.#options.deadlineMs);
    this.#state = { name: 'busy', worker, job, timer };
    worker.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(job.request);
  }

  #deadline(worker: Worker, job: Job): void {
    this.#state = { name: 'none' };
    this.#abandon(worker);
    job.resolve({ type: 'deadline' });
    this.#advance();
  }

  #abandon(worker: Worker): void {
    this.#abandonedCount++;
    worker.unref();
    void this.#outlive(worker);
  }

  async #outlive(worker: Worker): Promise<void> {
    await terminateWorker(worker);
    this.#abandonedCount--;
    this.#advance();
  }

  /**
   * Handles a worker thread that died or never started. The job of this thread fails. The waiting jobs get another
   * worker thread, but fail too if the lost thread never became ready.
   */
  #onLost(worker: Worker, detail: string, outOfMemory = false): void {
    const state = this.#state;
    if (!('worker' in state) || state.worker !== worker) return;
    this.#state = { name: 'none' };
    void terminateWorker(worker);
    if (state.name === 'busy') state.job.resolve(outOfMemory ? { type: 'memory' } : { type: 'broken', detail });
    if ('timer' in state) clearTimeout(state.timer);
    if (state.name === 'starting') {
      this.#refuseAll({ type: 'broken', detail });
      state.settle();
    }
    this.#advance();
  }

  #refuseAll(result: ThreadResult): void {
    for (const job of this.#queue.clear()) job.resolve(result);
  }
}

export interface CompileThreadOptions {
  /** The module of the worker thread. */
  readonly entry: URL;
  /** Maximum time for one job, in ms, from when the thread receives it. */
  readonly deadlineMs: number;
}

export type ThreadResult =
  | { readonly type: 'answer'; readonly answer: CompileAnswer }
  | { readonly type: 'deadline' }
  /** The job needed more memory than the thread has. */
  | { readonly type: 'memory' }
  /** Too many threads are still busy with jobs that missed their deadline. */
  | { readonly type: 'busy' }
  /** The job got no turn in time, or too many jobs waited. */
  | { readonly type: 'late'; readonly waitedMs: number }
  | { readonly type: 'closed' }
  | { readonly type: 'broken'; readonly detail: string };

/**
 * The stack of the worker thread, in MiB. The parser recurses natively: 64 KB of `(` need 80 to 96 MB. Only the used
 * part of the stack becomes real memory.
 */
export const STACK_MB = 192;
const HEAP_MB = 256;
const START_MS = 20_000;
const CLOSE_MS = 1_000;
const MAX_ABANDONED = 3;

interface Job {
  readonly request: CompileRequest;
  readonly resolve: (result: ThreadResult) => void;
}

interface Starting {
  readonly name: 'starting';
  readonly worker: Worker;
  readonly timer: NodeJS.Timeout;
  readonly settle: () => void;
  started?: Promise<void> | undefined;
}

interface Busy {
  readonly name: 'busy';
  readonly worker: Worker;
  readonly job: Job;
  readonly timer: NodeJS.Timeout;
}

type State =
  | { readonly name: 'none' | 'closed' }
  | Starting
  | { readonly name: 'idle'; readonly worker: Worker }
  | Busy;

/** Terminates the worker thread. Resolves when its native code has returned and the thread has ended. */
async function terminateWorker(worker: Worker): Promise<void> {
  await worker.terminate();
}

async function endedWithin(worker: Worker, mostMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, mostMs);
  });
  await Promise.race([terminateWorker(worker), late]);
  clearTimeout(timer);
}
