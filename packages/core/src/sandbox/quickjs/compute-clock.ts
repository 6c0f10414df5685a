import { closeSync, openSync, readSync } from 'node:fs';

/** A segment shorter than this never asks for processor time. */
const SHORT_MS = 2;

/**
 * How much of its own processor time a segment has used. On a busy machine that is less than the time that
 * passed, and a script must not pay for its neighbours.
 *
 * Reading the thread's processor time costs far more than reading a clock. So the plain clock is used until a
 * segment turns out to be a long one: the first `look`, some thousand instructions in, takes the reading that
 * later ones are compared with. Where a platform tells no such time, the plain clock is all there is.
 */
export class ComputeClock {
  #startedAt = 0;
  #allowedMs = 0;
  /** Plain time and processor time at the first look. */
  #first: { at: number; cpu: number | undefined } | undefined;
  #nextLookAt = 0;

  start(allowedMs: number): void {
    this.#startedAt = performance.now();
    this.#allowedMs = allowedMs;
    this.#first = undefined;
    this.#nextLookAt = this.#startedAt + allowedMs;
  }

  get startedAt(): number {
    return this.#startedAt;
  }

  /** True when the segment has used up its time. */
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
  threadCpuUsage?: () => { user: number; system: number };
}

/** Processor time of this thread so far, in ms; undefined where the platform does not tell. */
function threadCpuMs(): number | undefined {
  const usage = (process as ThreadCpu).threadCpuUsage?.();
  if (usage !== undefined) return (usage.user + usage.system) / 1000;
  return process.platform === 'linux' ? linuxThreadCpuMs() : undefined;
}

/** From the kernel's own account of the thread: its first number is nanoseconds on a processor. */
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
