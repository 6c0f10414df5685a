import { getPriority, setPriority } from 'node:os';

/** The difference between the priority of a thread with scripts and that of the host's threads. */
const LOWER_BY = 10;

/**
 * Gives this thread a lower priority than the host's threads, so that scripts that compute without end leave the
 * processors to them. Only on Linux: elsewhere a priority belongs to the whole process.
 */
export function yieldToHost(): void {
  if (process.platform !== 'linux') return;
  try {
    // defence: scripts-yield-to-the-host
    setPriority(Math.min(19, getPriority() + LOWER_BY));
  } catch {
    // A filter of system calls may forbid it. Then the thread keeps its priority.
  }
}
