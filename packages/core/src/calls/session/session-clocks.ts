import type { Limits, OutcomeMetadata, SandboxSegment } from '../../protocol/index.js';
import { roundMs } from './session-outcome.js';
import type { ResumeState } from './resume-state.js';
import type { SessionOptions } from './session-options.js';
import type { SpentSoFar, ClockReading } from './suspended-script.js';

/** The time and memory that one script uses, over all processes in which it has run. */
export class SessionUsage {
  readonly clock: WallClock;
  readonly #options: SessionOptions;
  /** The start of the script, on the monotonic clock. */
  readonly #startedAt: number;
  #computeMs: number;
  #memoryBytes: number;
  #compilationCacheHit: boolean;

  constructor(options: SessionOptions, onTimeout: () => void) {
    const spent = options.script.earlier?.spent;
    const sleptMs = spent === undefined ? 0 : Math.max(0, Date.now() - spent.atMs);
    this.#options = options;
    this.#startedAt = performance.now() - (spent === undefined ? 0 : spent.elapsedMs + sleptMs);
    this.clock = new WallClock(
      remainingWallMs(options.context.limits, options.script.earlier),
      onTimeout,
      spent === undefined ? 0 : spent.wall.pausedMs + sleptMs,
    );
    this.#computeMs = spent?.computeMs ?? 0;
    this.#memoryBytes = spent?.memoryBytes ?? 0;
    this.#compilationCacheHit = spent?.compilationCacheHit ?? true;
  }

  /** Returns the time in ms since the script's start. */
  nowMs(): number {
    return performance.now() - this.#startedAt;
  }

  note({ computeMs, memoryBytes, compilationCacheHit }: SandboxSegment): void {
    this.#computeMs += computeMs;
    this.#memoryBytes = Math.max(this.#memoryBytes, memoryBytes);
    this.#compilationCacheHit &&= compilationCacheHit;
  }

  spent(guestClockMs: number): SpentSoFar {
    return {
      wall: this.clock.reading(),
      elapsedMs: this.nowMs(),
      atMs: Date.now(),
      guestClockMs,
      computeMs: this.#computeMs,
      memoryBytes: this.#memoryBytes,
      cacheHit: this.#options.script.cacheHit,
      compilationCacheHit: this.#compilationCacheHit,
    };
  }

  metadata(durationMs: number, toolCallsMade: number): OutcomeMetadata {
    return {
      durationMs: roundMs(durationMs),
      computeMs: roundMs(this.#computeMs),
      approvalWaitMs: Math.round(this.clock.pausedMs()),
      toolCallsMade,
      memoryUsedMb: roundMs(this.#memoryBytes / 1_048_576),
      cacheHit: this.#options.script.cacheHit,
      compilationCacheHit: this.#compilationCacheHit,
      runtime: this.#options.services.runtime.name,
    };
  }
}

/** Returns the rest of the wall clock. The limit may differ from the limit before the suspension. */
function remainingWallMs({ timeoutMs }: Limits, earlier: ResumeState | undefined): number {
  if (earlier?.spent === undefined) return timeoutMs;
  return earlier.spent.wall.remainingMs - (earlier.limits.timeoutMs - timeoutMs);
}

/**
 * A script's wall clock. The clock counts down while the script or its tools run, pauses while the script waits only
 * for approvals, and calls back once at its end. Only the time that the guest used counts in the guest's turn; the time
 * that the guest waited for a worker thread does not count.
 */
export class WallClock {
  #remainingMs: number;
  #pausedMs: number;
  #since: number | undefined;
  #pausedSince: number | undefined;
  #turnSince: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #onExpired: () => void;

  constructor(timeoutMs: number, onExpired: () => void, pausedMs = 0) {
    this.#remainingMs = timeoutMs;
    this.#pausedMs = pausedMs;
    this.#onExpired = onExpired;
  }

  run(): void {
    if (this.#since !== undefined) return;
    if (this.#pausedSince !== undefined) this.#pausedMs += performance.now() - this.#pausedSince;
    this.#pausedSince = undefined;
    this.#since = performance.now();
    this.#arm();
  }

  /** Subtracts the time before the clock was started. */
  charge(spentMs: number): void {
    this.#remainingMs -= spentMs;
  }

  /** Call this method when the guest starts to execute, or to wait for its turn. */
  turnBegins(): void {
    this.#turnSince = performance.now();
  }

  turnEnds(usedMs: number): void {
    if (this.#turnSince === undefined) return;
    this.#remainingMs += Math.max(0, performance.now() - this.#turnSince - usedMs);
    this.#turnSince = undefined;
  }

  pause(): void {
    if (this.#since === undefined) return;
    this.stop();
    this.#pausedSince = performance.now();
  }

  /** Stops the clock, permanently or until `run`. */
  stop(): void {
    clearTimeout(this.#timer);
    if (this.#since !== undefined) this.#remainingMs -= performance.now() - this.#since;
    if (this.#pausedSince !== undefined) this.#pausedMs += performance.now() - this.#pausedSince;
    this.#since = this.#pausedSince = undefined;
  }

  remainingMs(): number {
    return Math.max(
      0,
      this.#since === undefined ? this.#remainingMs : this.#remainingMs - (performance.now() - this.#since),
    );
  }

  /** Returns the time in ms for which the clock was paused for approvals. */
  pausedMs(): number {
    return this.#pausedMs + (this.#pausedSince === undefined ? 0 : performance.now() - this.#pausedSince);
  }

  reading(): ClockReading {
    return { remainingMs: this.remainingMs(), pausedMs: this.pausedMs() };
  }

  #arm(): void {
    // defence: wall-clock-rings
    this.#timer = setTimeout(() => this.#ring(), Math.max(0, this.remainingMs()));
  }

  /**
   * Reports the expiry if the clock's time is over. Turns may have returned time since the timer was set, and during a
   * turn the guest has its own limit.
   */
  #ring(): void {
    if (this.#turnSince !== undefined) this.#timer = setTimeout(() => this.#ring(), NEXT_LOOK_MS);
    else if (this.remainingMs() >= 1) this.#arm();
    else this.#onExpired();
  }
}

/** The time in ms after which a clock that expired during a turn is checked again. */
const NEXT_LOOK_MS = 50;

/**
 * The clock that a script reads, in ms since 1970. The clock is set to the system's time when the script starts and
 * when the script is resumed. Between these times the clock follows the monotonic clock, so that a change of the
 * system's time neither delays nor shortens a loop that reads the clock. The clock never goes back, and moves only at a
 * delivery to the script.
 */
export class GuestClock {
  #shownMs: number;
  /** The difference between the guest's time and the monotonic clock. */
  #offsetMs: number;

  constructor(startMs: number) {
    this.#shownMs = startMs;
    this.#offsetMs = startMs - performance.now();
  }

  get shownMs(): number {
    return this.#shownMs;
  }

  /** Advances to the current time, and returns it. */
  advance(): number {
    this.#shownMs = Math.max(this.#shownMs, Math.floor(this.#offsetMs + performance.now()));
    return this.#shownMs;
  }

  /** Sets the clock to a time of the tape during a replay. */
  replay(shownMs: number): void {
    this.#shownMs = shownMs;
  }

  /**
   * Sets the clock of a script that is resumed. The clock of an earlier machine may have been ahead of this machine's
   * clock.
   */
  resume(systemMs: number): void {
    this.#shownMs = Math.max(this.#shownMs, systemMs);
    this.#offsetMs = this.#shownMs - performance.now();
  }
}

/**
 * Decides when a script that waits for decisions is suspended: at once if no user is asked, otherwise after
 * `suspendAfterMs`. A timer that fires during the wait does not postpone the suspension.
 */
export class SuspensionPlan {
  readonly #suspendAfterMs: number | undefined;
  readonly #suspend: () => void;
  #timeout: NodeJS.Timeout | undefined;
  /** The time of the suspension, on the monotonic clock. */
  #dueAtMs: number | undefined;

  constructor(suspendAfterMs: number | undefined, suspend: () => void) {
    this.#suspendAfterMs = suspendAfterMs;
    this.#suspend = suspend;
  }

  /** Call this method when the script waits for decisions, and perhaps for timers. */
  waits(nobodyIsAsked: boolean): void {
    this.pause();
    if (nobodyIsAsked) return this.#suspend();
    if (this.#suspendAfterMs === undefined) return;
    const now = performance.now();
    this.#dueAtMs ??= now + this.#suspendAfterMs;
    const leftMs = Math.ceil(this.#dueAtMs - now);
    if (leftMs <= 0) this.#suspend();
    else this.#timeout = setTimeout(this.#suspend, leftMs);
  }

  /** Call this method when the guest executes. */
  pause(): void {
    clearTimeout(this.#timeout);
  }

  /** Call this method when the script waits for other work. */
  cancel(): void {
    this.pause();
    this.#dueAtMs = undefined;
  }
}
