import type { IsolateRun, MemoryWatch } from './isolate-run.js';

/** Memory that the process may need in addition to that of its executing scripts: garbage collectors, compiled code. */
const SLACK_BYTES = 128 * 1_048_576;

/**
 * V8 extends a heap that is nearly full, so a single allocation can pass the isolate's own limit many times over. This
 * class reads the memory of the whole process. If only one script executes, that script is the cause. If several
 * scripts execute, the cause is unknown: the process ends itself, and its host runs each of them alone.
 */
export class ProcessMemory implements MemoryWatch {
  readonly #executing = new Set<IsolateRun>();
  #restBytes = 0;

  enter(run: IsolateRun): void {
    if (this.#executing.size === 0) this.#restBytes = process.memoryUsage.rss();
    this.#executing.add(run);
  }

  leave(run: IsolateRun): void {
    this.#executing.delete(run);
  }

  isOver(): boolean {
    let allowed = SLACK_BYTES;
    for (const { memoryBytes } of this.#executing) allowed += memoryBytes;
    // defence: isolate-process-memory
    if (process.memoryUsage.rss() - this.#restBytes <= allowed) return false;
    if (this.#executing.size > 1) process.kill(process.pid, 'SIGKILL');
    return true;
  }
}
