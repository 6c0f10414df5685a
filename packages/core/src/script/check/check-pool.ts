import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { compilerExecutable, coreFile } from '../../files/core-files.js';
import { FairQueue, type QueueTurn } from '../../protocol/fair-queue.js';
import type { Defined } from '../../protocol/json.js';
import { CheckerProcess, type NativeDiagnostic, type TypePlace } from './checker-process.js';

export interface CheckPoolOptions {
  /**
   * Maximum number of processes. A further process starts when `CROWD` checks wait. Default: 2, or 1 on a single core.
   */
  readonly size?: number | undefined;
  /** Maximum time of the check of an empty text, in ms. Default 150. */
  readonly deadlineMs?: number | undefined;
  /** Path of the compiler. Default: the one in the package `typescript`. */
  readonly executable?: string | undefined;
  /** Called for each check that no process could run, except after `close`. */
  readonly onUnavailable?: ((detail: string) => void) | undefined;
}

/**
 * The declarations that a script can use, as text for the checker, and a name for them: the same name means the same
 * text.
 */
interface ToolSet {
  readonly name: string;
  readonly declarations: string;
}

/**
 * `slow`: the check missed its deadline, or ended its process twice. `busy`: the check got no turn in time, or too
 * little processor time. `unavailable`: no process could run the check.
 */
export type CheckAnswer =
  | {
      readonly type: 'checked';
      readonly diagnostics: readonly NativeDiagnostic[];
      /** The diagnostics of the same script with the observed types of results. */
      readonly observed?: readonly NativeDiagnostic[] | undefined;
    }
  | { readonly type: 'slow' }
  | { readonly type: 'busy'; readonly waitedMs: number }
  | { readonly type: 'unavailable'; readonly detail: string };

type CheckedAnswer = Extract<CheckAnswer, { type: 'checked' }>;

export interface CheckPoolStats {
  /** Number of live processes. */
  processes: number;
  checked: number;
  /** Number of checks that missed their deadline. */
  slow: number;
  /** Number of processes that were started after the first. */
  restarts: number;
  /** Number of checks that no process could run. */
  unavailable: number;
  /** The reason, if no process could run the last check. */
  reason?: string | undefined;
}

interface Job {
  /** Asks a process that has read the declarations. */
  readonly ask: (process: CheckerProcess) => Promise<Omit<CheckedAnswer, 'type'>>;
  readonly toolSet: ToolSet;
  readonly text: string;
  readonly turn: QueueTurn;
  readonly since: number;
  readonly resolve: (answer: CheckAnswer) => void;
  /** Number of processes that ended during this check for a reason other than its own computation. */
  losses: number;
}

/** Maximum number of consecutive failed starts before the pool stops starting processes. */
const MAX_FAILED_STARTS = 3;
/** Maximum time to start a process and to read a set of declarations for the first time, in ms. */
const OPEN_MS = 15_000;
/**
 * Time for each character of the text, in addition to the deadline, in ms. A script of 18 KB with 200 calls takes 60 to
 * 110 ms of processor time on a busy machine (measured).
 */
const MS_FOR_CHARACTER = 0.015;
/** Number of waiting checks at which a second process is worthwhile. */
const CROWD = 6;
/** Maximum number of sets of declarations that a process keeps. */
const MAX_TOOL_SETS = 16;

/**
 * Keeps processes of the native compiler warm. Each process runs one check at a time; the other checks wait in one
 * fair queue. The deadline of a check begins when the check starts.
 *
 * States of a seat: empty → (a job arrives) opening → checking ⇄ idle → (killed, or died) empty. A process that misses
 * a deadline is killed, because it reads no message while it computes. A job whose process died for another reason is
 * retried once.
 */
export class CheckPool {
  readonly #options: Defined<Pick<CheckPoolOptions, 'size' | 'deadlineMs'>> & CheckPoolOptions;
  readonly #queue = new FairQueue<Job>();
  readonly #seats: Seat[] = [];
  #failedStarts = 0;
  #startedCount = 0;
  #checkedCount = 0;
  #slow = 0;
  #unavailable = 0;
  /** The reason why no process could run the last check; undefined after a successful check. */
  #reason: string | undefined;
  #isClosed = false;

  constructor(options: CheckPoolOptions = {}) {
    this.#options = {
      ...options,
      size: options.size ?? Math.min(2, availableParallelism()),
      deadlineMs: options.deadlineMs ?? 150,
    };
  }

  /** Never rejects. */
  check(toolSet: ToolSet, text: string, turn: QueueTurn): Promise<CheckAnswer> {
    return new Promise((resolve) => {
      if (this.#isClosed)
        return resolve({ type: 'unavailable', detail: 'The type checker is closed, because its harness is closed.' });
      const ask = async (process: CheckerProcess) => ({ diagnostics: await process.check(toolSet.name, text) });
      this.#enqueue({ ask, toolSet, text, turn, since: performance.now(), resolve, losses: 0 });
      this.#serve();
    });
  }

  /** The types at places of a text; undefined for a place without a known type. Never rejects. */
  async printTypes(
    toolSet: ToolSet,
    text: string,
    places: readonly TypePlace[],
    turn: QueueTurn,
  ): Promise<readonly (string | undefined)[]> {
    const none = places.map(() => undefined);
    if (this.#isClosed || places.length === 0) return none;
    let types: readonly (string | undefined)[] = none;
    await new Promise<CheckAnswer>((resolve) => {
      const ask = async (process: CheckerProcess) => {
        types = await process.printTypes(toolSet.name, text, places);
        return { diagnostics: [] };
      };
      this.#enqueue({ ask, toolSet, text, turn, since: performance.now(), resolve, losses: 0 });
      this.#serve();
    });
    return types;
  }

  /** The time in which a process starts, or reads the declarations, does not count as a wait. */
  #enqueue(job: Job): void {
    const isOpen = this.#seats.some(({ process }) => process?.isOpen(job.toolSet.name));
    const turn = { ...job.turn, waitMs: job.turn.waitMs + (isOpen ? 0 : OPEN_MS) };
    this.#queue.add(job, turn, () => job.resolve(busyAnswer(job)));
  }

  /**
   * Checks an empty text, so that a process reads the declarations ahead of time. Resolves even if no process can be
   * started.
   */
  async warm(toolSet: ToolSet): Promise<void> {
    await this.check(toolSet, '', { principal: undefined, waitMs: OPEN_MS });
  }

  stats(): CheckPoolStats {
    const processes = this.#seats.filter(({ process }) => process !== undefined).length;
    return {
      processes,
      checked: this.#checkedCount,
      slow: this.#slow,
      restarts: Math.max(0, this.#startedCount - 1),
      unavailable: this.#unavailable,
      reason: this.#reason,
    };
  }

  /** Ids of the live processes; for tests. */
  pids(): number[] {
    return this.#seats.map(({ process }) => process?.pid).filter((pid) => pid !== undefined);
  }

  close(): void {
    this.#isClosed = true;
    for (const job of this.#queue.clear())
      job.resolve({ type: 'unavailable', detail: 'The type checker was closed, because its harness was closed.' });
    for (const seat of this.#seats) seat.process?.kill();
  }

  #serve(): void {
    while (this.#queue.size > 0) {
      const seat = this.#freeSeat();
      if (seat === undefined) return;
      const job = this.#queue.next()!;
      seat.isBusy = true;
      void this.#work(seat, job).then((answer) => {
        seat.isBusy = false;
        seat.process?.hold(false);
        if (answer === undefined) this.#enqueue(job);
        else job.resolve(answer);
        // Replaces the killed process now, so that the next script does not wait for the start.
        if (answer?.type === 'slow' && this.#queue.size === 0) void this.warm(job.toolSet);
        this.#serve();
      });
    }
  }

  #freeSeat(): Seat | undefined {
    const free = this.#seats.find(({ isBusy }) => !isBusy);
    if (free !== undefined) return free;
    const isWorth = this.#seats.length === 0 || this.#queue.size >= CROWD;
    if (this.#seats.length >= this.#options.size || !isWorth) return undefined;
    const seat = { process: undefined, isBusy: false, toolSets: [] };
    this.#seats.push(seat);
    if (this.#seats.length === 1) return seat;
    void this.#openAhead(seat, this.#queue.peek()!.toolSet);
    return undefined;
  }

  /** A further process opens before it gets a job, because another process may be free earlier. */
  async #openAhead(seat: Seat, toolSet: ToolSet): Promise<void> {
    seat.isBusy = true;
    try {
      await this.#openProcess(seat, toolSet);
    } catch {
      // The next job of this seat tries again, and reports the reason.
    }
    seat.isBusy = false;
    seat.process?.hold(false);
    this.#serve();
  }

  /** Runs a check. Returns undefined if the job must be retried. */
  async #work(seat: Seat, job: Job): Promise<CheckAnswer | undefined> {
    let isOpen = false;
    try {
      const process = await this.#openProcess(seat, job.toolSet);
      isOpen = true;
      const deadlineMs = this.#options.deadlineMs + job.text.length * MS_FOR_CHARACTER;
      const answer = await this.#inTime(process, deadlineMs, () => job.ask(process));
      this.#checkedCount++;
      this.#reason = undefined;
      return { type: 'checked', ...answer };
    } catch (error) {
      const isStarved = error instanceof MissedDeadline && error.isStarved;
      if (isOpen && error instanceof MissedDeadline && !isStarved) return this.#slowAnswer();
      if (this.#isClosed) return { type: 'unavailable', detail: String(error) };
      if (++job.losses <= 1) return undefined;
      if (!isOpen) return this.#refuse(error);
      return isStarved ? busyAnswer(job) : this.#slowAnswer();
    }
  }

  #slowAnswer(): CheckAnswer {
    this.#slow++;
    return { type: 'slow' };
  }

  #refuse(error: unknown): CheckAnswer {
    // After the pool has stopped starting processes, the reason of the last failed start remains.
    if (!(error instanceof TooManyFailedStarts) || this.#reason === undefined)
      this.#reason = error instanceof Error ? error.message : String(error);
    this.#unavailable++;
    this.#options.onUnavailable?.(this.#reason);
    return { type: 'unavailable', detail: this.#reason };
  }

  /**
   * Returns the seat's process after it has read the declarations. The time for reading does not count as time of the
   * check.
   */
  async #openProcess(seat: Seat, toolSet: ToolSet): Promise<CheckerProcess> {
    const process = seat.process ?? this.#start(seat);
    process.hold(true);
    if (!process.isOpen(toolSet.name)) {
      await this.#inTime(process, OPEN_MS, () => process.open(toolSet.name, toolSet.declarations));
    }
    this.#failedStarts = 0;
    await keepRecent(seat, process, toolSet.name);
    return process;
  }

  #start(seat: Seat): CheckerProcess {
    if (this.#failedStarts >= MAX_FAILED_STARTS) throw new TooManyFailedStarts('The type checker did not start.');
    this.#failedStarts++;
    this.#startedCount++;
    const executable = this.#options.executable ?? compilerExecutable();
    const process = new CheckerProcess(executable, readTypeLibrary(), () => {
      if (seat.process === process) seat.process = undefined;
    });
    seat.toolSets = [];
    seat.process = process;
    return process;
  }

  async #inTime<T>(process: CheckerProcess, deadlineMs: number, act: () => Promise<T>): Promise<T> {
    let missed: MissedDeadline | undefined;
    const deadline = new CheckDeadline(
      deadlineMs,
      () => process.cpuMs(),
      (isStarved) => {
        missed = new MissedDeadline(isStarved);
        process.kill();
      },
    );
    try {
      return await act();
    } catch (error) {
      throw missed ?? error;
    } finally {
      deadline.stop();
    }
  }
}

interface Seat {
  process: CheckerProcess | undefined;
  isBusy: boolean;
  /** Open sets of declarations, the most recently used one last. */
  toolSets: string[];
}

/** Thrown after too many failed starts. */
class TooManyFailedStarts extends Error {}

class MissedDeadline extends Error {
  /** `isStarved`: the check got too little processor time. */
  constructor(readonly isStarved: boolean) {
    super('The type checker took too long.');
  }
}

function busyAnswer({ since }: Job): CheckAnswer {
  return { type: 'busy', waitedMs: Math.round(performance.now() - since) };
}

async function keepRecent(seat: Seat, process: CheckerProcess, name: string): Promise<void> {
  seat.toolSets = [...seat.toolSets.filter((other) => other !== name), name];
  const oldest = seat.toolSets.length > MAX_TOOL_SETS ? seat.toolSets.shift() : undefined;
  if (oldest !== undefined) await process.close(oldest);
}

/**
 * The share of the deadline that a check must have spent computing to count as slow. A check below this share has
 * mainly waited for a processor.
 */
const OWN_SHARE = 0.6;
/** The share of the elapsed time that counts as the check's own, if the platform reports no processor time. */
const ASSUMED_SHARE = 0.25;
/** Maximum wait on a busy machine, as a multiple of the deadline. */
const MAX_WAIT_FACTOR = 32;
const MIN_EXTENSION_MS = 20;

/**
 * A check's deadline in the checker's own processor time, if the platform reports it: a good script must not be refused
 * because other processes compute. Calls `onMissed` at most once, and not after `stop`; `isStarved`: the check has
 * mainly waited for a processor.
 */
export class CheckDeadline {
  readonly #deadlineMs: number;
  readonly #cpuMs: () => number | undefined;
  readonly #onMissed: (isStarved: boolean) => void;
  readonly #startedAt = performance.now();
  readonly #startedCpu: number | undefined;
  #timer: NodeJS.Timeout;

  constructor(deadlineMs: number, cpuMs: () => number | undefined, onMissed: (isStarved: boolean) => void) {
    this.#deadlineMs = deadlineMs;
    this.#cpuMs = cpuMs;
    this.#onMissed = onMissed;
    this.#startedCpu = cpuMs();
    this.#timer = setTimeout(() => this.#look(), deadlineMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    const elapsed = performance.now() - this.#startedAt;
    const now = this.#cpuMs();
    const isKnown = now !== undefined && this.#startedCpu !== undefined;
    const used = isKnown ? now - this.#startedCpu : elapsed * ASSUMED_SHARE;
    const isStarved = used < this.#deadlineMs * OWN_SHARE;
    if (!isStarved || elapsed >= this.#deadlineMs * MAX_WAIT_FACTOR) return this.#onMissed(isStarved);
    this.#timer = setTimeout(() => this.#look(), Math.max(MIN_EXTENSION_MS, this.#deadlineMs - used));
  }
}

let text: string | undefined;

/** Declarations of the engine's built-ins; written when the package is built. */
export function readTypeLibrary(): string {
  return (text ??= readFileSync(coreFile('script/check/type-library/guest.lib.d.ts'), 'utf8'));
}
