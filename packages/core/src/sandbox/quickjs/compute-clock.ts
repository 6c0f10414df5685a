import { closeSync, openSync, readSync } from 'node:fs';

/** The clock first reads the processor time when a segment has run for this time, in ms, or for its allowance. */
const SHORT_MS = 2;

/**
 * Measures the processor time that a segment has used. On a busy machine, processor time is less than the elapsed time,
 * and a script is not charged for the work of others.
 *
 * Reading the thread's processor time costs far more than reading a clock. So the plain clock is used until a segment
 * turns out to be long: the first `look` after SHORT_MS takes the reading with which later readings are compared. On a
 * platform that does not report processor time, only the plain clock is used.
 */
export class ComputeClock {
  #startedAt = 0;
  #allowedMs = 0;
  /** Plain time and processor time at the first look of a long segment. */
  #first: { at: number; cpu: number | undefined } | undefined;
  #nextLookAt = 0;

  start(allowedMs: number): void {
    this.#startedAt = performance.now();
    this.#allowedMs = allowedMs;
    this.#first = undefined;
    this.#nextLookAt = this.#startedAt + allowedMs;
  }

  /** Like `start`, for a long segment: reads the processor time at once, so that no plain time counts. */
  startExact(allowedMs: number): void {
    this.start(allowedMs);
    this.#first = { at: this.#startedAt, cpu: threadCpuMs() };
  }

  get startedAt(): number {
    return this.#startedAt;
  }

  /** True if the segment has used up its time. */
  look(now: number): boolean {
    if (now - this.#startedAt < SHORT_MS && now <= this.#nextLookAt) return false;
    this.#first ??= { at: now, cpu: threadCpuMs() };
    if (now <= this.#nextLookAt) return false;
    const left = this.#allowedMs - this.usedMs(now);
    if (left <= 0) return true;
    this.#nextLookAt = now + left;
    return false;
  }

  usedMs(now: number): number {
    const elapsed = now - this.#startedAt;
    if (this.#first?.cpu === undefined) return elapsed;
    const cpu = threadCpuMs();
    return cpu === undefined ? elapsed : Math.min(elapsed, this.#first.at - this.#startedAt + cpu - this.#first.cpu);
  }
}

interface ThreadCpu {
  threadCpuUsage?: (() => { user: number; system: number }) | undefined;
}

/** Processor time of this thread so far, in ms; undefined if the platform does not report it. */
function threadCpuMs(): number | undefined {
  const usage = (process as ThreadCpu).threadCpuUsage?.();
  if (usage !== undefined) return (usage.user + usage.system) / 1000;
  return process.platform === 'linux' ? linuxThreadCpuMs() : undefined;
}

/** Reads the kernel's account of the thread: its first number is the processor time in nanoseconds. */
function linuxThreadCpuMs(): number | undefined {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r');
    const buffer = Buffer.alloc(64);
    const length = readSync(file, buffer, 0, 64, 0);
    closeSync(file);
    const nanoseconds = Number.parseInt(buffer.toString('latin1', 0, length), 10);
    return Number.isFinite(nanoseconds) ? nanoseconds / 1e6 : undefined;
  } catch {
    return undefined;
  }
}
