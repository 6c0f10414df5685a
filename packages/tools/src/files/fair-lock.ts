import { FairQueue } from '@toolscript/core/internal';
import { failure, throwIfAborted } from '../failure.js';

/** A caller that may have to wait for other changes of files. */
export interface LockCaller {
  readonly signal?: AbortSignal | undefined;
  readonly principal?: string | undefined;
  /** Maximum time to wait for other changes in this process, in ms. Default: `MAX_WAIT_MS`. */
  readonly queueWaitMs?: number | undefined;
}

export const MAX_WAIT_MS = 30_000;

/** Runs one piece of work at a time. The others wait in a fair queue, each until its caller aborts or its time ends. */
export class FairLock {
  readonly #queue = new FairQueue<() => void>();
  #isHeld = false;

  get isHeld(): boolean {
    return this.#isHeld;
  }

  async run<T>(work: () => Promise<T>, caller: LockCaller): Promise<T> {
    if (this.#isHeld) await this.#turn(caller);
    this.#isHeld = true;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #turn({ signal, principal, queueWaitMs = MAX_WAIT_MS }: LockCaller): Promise<void> {
    throwIfAborted(signal);
    let giveUp!: () => void;
    try {
      await new Promise<void>((enter, refuse) => {
        this.#queue.add(enter, { principal, waitMs: queueWaitMs }, (waitedMs) => refuse(busy(waitedMs)));
        // A change that is aborted while it waits leaves the queue, so that later changes can start.
        giveUp = () => {
          this.#queue.remove(enter);
          refuse(signal?.reason as Error);
        };
        signal?.addEventListener('abort', giveUp, { once: true });
      });
    } catch (error) {
      throwIfAborted(signal);
      throw error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
  }

  /** Hands the lock to the next caller, or frees it. */
  #leave(): void {
    const enter = this.#queue.next();
    this.#isHeld = enter !== undefined;
    enter?.();
  }
}

function busy(waitedMs: number): Error {
  return failure(
    'busy',
    `Other calls are changing files here, and this call got no turn within ${waitedMs} ms, so it changed nothing. Call the tool again.`,
  );
}
