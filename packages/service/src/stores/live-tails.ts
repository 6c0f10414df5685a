import type { LogTailTexts } from './tables/log-tables.js';
import type { EventBatch } from './event-batches.js';

/**
 * Maximum number of cached events of a run, and their maximum total length in UTF-16 units. A batch that does not fit
 * replaces the cached events.
 */
const MAX_EVENTS = 256;
const MAX_LENGTH = 262_144;

interface Tail {
  /** The events as JSON, as in the database, so that readers cannot change them. */
  readonly texts: readonly string[];
  readonly length: number;
  readonly nextSeq: number;
  readonly isEnded: boolean;
}

/**
 * The newest published events of runs with subscribers in this process. Subscribers read these events without a query
 * to the database. A tail becomes invalid when another process may have changed its run.
 */
export class LiveTails {
  readonly #followers = new Map<string, number>();
  readonly #tails = new Map<string, Tail>();

  follow(runId: string): void {
    this.#followers.set(runId, (this.#followers.get(runId) ?? 0) + 1);
  }

  leave(runId: string): void {
    const left = this.#followers.get(runId)! - 1;
    if (left > 0) return void this.#followers.set(runId, left);
    this.#followers.delete(runId);
    this.#tails.delete(runId);
  }

  /** Adds a batch that the database has stored. `nextSeq`: the `seq` of the run's next event. */
  add({ runId, firstSeq, texts, endIndex }: EventBatch, nextSeq: number): void {
    // If some of the events were stored before, the tail may lack the events that follow the batch.
    if (!this.#followers.has(runId) || firstSeq + texts.length !== nextSeq) return void this.#tails.delete(runId);
    const before = this.#tails.get(runId);
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    const isNext = before !== undefined && before.nextSeq === firstSeq;
    const fits = isNext && before.texts.length + texts.length <= MAX_EVENTS && before.length + length <= MAX_LENGTH;
    this.#tails.set(runId, {
      texts: fits ? [...before.texts, ...texts] : texts,
      length: fits ? before.length + length : length,
      nextSeq,
      isEnded: endIndex !== -1,
    });
  }

  /** Returns undefined if the tail does not have the events from `from` on. The caller then reads the database. */
  read(runId: string, from: number): LogTailTexts | undefined {
    const tail = this.#tails.get(runId);
    if (tail === undefined || from > tail.nextSeq) return undefined;
    const { texts, nextSeq, isEnded } = tail;
    const index = from - (nextSeq - texts.length);
    if (index < 0) return undefined;
    return { texts: texts.slice(index), next: undefined, position: { nextSeq, isEnded } };
  }

  delete(runId: string): void {
    this.#tails.delete(runId);
  }

  clear(): void {
    this.#tails.clear();
  }
}
