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

  /** Drops the oldest memories if there is no more room. */
  put(key: string, memory: Uint8Array): void {
    this.#delete(key);
    this.#memories.set(key, memory);
    this.#bytes += memory.length;
    for (const oldest of this.#memories.keys()) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    this.#bytes -= this.#memories.get(key)?.length ?? 0;
    this.#memories.delete(key);
  }
}

/** The key of the memory that `part` leads to from the memory of `key`; an empty key stands for the image. */
export function nextHeapKey(key: string, part: Uint8Array): string {
  return createHash('sha256').update(key).update(createHash('sha256').update(part).digest()).digest('hex');
}
