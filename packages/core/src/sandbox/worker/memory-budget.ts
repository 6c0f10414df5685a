import { totalmem } from 'node:os';

/** Bytes of a sandbox whose script has just started: 1.03 MB (measured), plus the heap that most scripts add. */
export const SANDBOX_BYTES = 1_310_720;

/** The default share of the machine's memory for sandboxes. */
const DEFAULT_SHARE = 1 / 4;

/** A quarter of the memory that this process can have: the machine's, or its control group's if that is less. */
export function defaultMaxBytes(): number {
  const limit = process.constrainedMemory() ?? 0;
  return Math.floor((limit > 0 ? Math.min(limit, totalmem()) : totalmem()) * DEFAULT_SHARE);
}

/**
 * Decides whether another script may have a sandbox. It counts the live ones itself, so that scripts that start at
 * the same moment count at once, and adds the growth that their threads report.
 */
export class MemoryBudget {
  #maxBytes: number;
  #sandboxes = 0;
  readonly #grownBytes: () => number;

  /** `grownBytes`: bytes of live sandboxes beyond `SANDBOX_BYTES` each. */
  constructor(maxBytes: number, grownBytes: () => number) {
    this.#maxBytes = maxBytes;
    this.#grownBytes = grownBytes;
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  get usedBytes(): number {
    return this.#sandboxes * SANDBOX_BYTES + this.#grownBytes();
  }

  /** Always true if no other script has a sandbox. */
  get hasRoom(): boolean {
    // defence: memory-of-all-sandboxes, without it: return true;
    return this.#sandboxes === 0 || this.usedBytes + SANDBOX_BYTES <= this.#maxBytes;
  }

  add(): void {
    this.#sandboxes++;
  }

  remove(): void {
    this.#sandboxes--;
  }

  /**
   * Call it if the system had no memory for the last sandbox: the current number becomes the maximum. False if there
   * are no other sandboxes.
   */
  learnLimit(): boolean {
    this.#maxBytes = Math.min(this.#maxBytes, this.usedBytes - SANDBOX_BYTES);
    return this.#sandboxes > 1;
  }
}
