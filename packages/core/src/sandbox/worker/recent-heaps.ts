import { createHash } from 'node:crypto';

/** Maximum bytes of the memories that one worker keeps. */
const MAX_BYTES = 67_108_864;

/**
 * The memories that a worker's last scripts left, as they are: a next script then needs neither to decompress a memory
 * nor to add up differences. A memory is found by the hash of its whole history, so it is the one that is stored.
 */
export class RecentHeaps {
  readonly #memories = new Map<string, Uint8Array>();
  #bytes = 0;

  get(key: string): Uint8Array | undefined {
    return this.#memories.get(key);
  }

  /**
   * Drops the oldest memories if there is no room for this many bytes more. Returns a dropped memory of this size, whose
   * bytes may be overwritten: new memory takes longer to allocate than to fill. `isUsed`: whether a script that runs
   * needs the memory.
   */
  makeRoom(bytes: number, isUsed: (memory: Uint8Array) => boolean): Uint8Array | undefined {
    let spare: Uint8Array | undefined;
    for (const [oldest, memory] of this.#memories) {
      if (this.#bytes + bytes <= MAX_BYTES) break;
      this.#memories.delete(oldest);
      this.#bytes -= memory.length;
      // defence: memories-in-use-are-not-overwritten
      if (memory.length === bytes && !isUsed(memory)) spare = memory;
    }
    return spare;
  }

  /** Call `makeRoom` before. */
  put(key: string, memory: Uint8Array): void {
    if (memory.length > MAX_BYTES) return;
    this.#bytes += memory.length - (this.#memories.get(key)?.length ?? 0);
    this.#memories.delete(key);
    this.#memories.set(key, memory);
  }
}

/** The key of the memory that `part` leads to from the memory of `key`; an empty key stands for the image. */
export function nextHeapKey(key: string, part: Uint8Array): string {
  return createHash('sha256').update(key).update(createHash('sha256').update(part).digest()).digest('hex');
}
