import { setImmediate as nextTurn } from 'node:timers/promises';
import { failure, throwIfAborted } from './failure.js';

/** Maximum time that one call computes before it yields to other work of this process, in ms. */
const SLICE_MS = 5;
/** Steps between two clock reads. A step takes about as long as comparing two short texts. */
const STEPS_BETWEEN_LOOKS = 2_000;

export interface WorkOptions {
  readonly signal: AbortSignal | undefined;
  /** Maximum number of steps of the whole work. More steps cause an error. Default: no maximum. */
  readonly maxSteps?: number | undefined;
  /** The message of the error for too many steps. */
  readonly tooMuch?: string | undefined;
}

/**
 * Slices work whose cost a script or a file determines. The loop of the work contains
 *
 *     if (slices.isDue(steps)) await slices.pass();
 *
 * so that the event loop continues, aborts take effect, and the total work is bounded.
 */
export class WorkSlices {
  readonly #options: WorkOptions;
  #steps = 0;
  #total = 0;
  #startedAt = performance.now();

  constructor(options: WorkOptions) {
    this.#options = options;
  }

  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  /** Counts steps that follow or were just done. Returns true if the caller must call `pass` before it continues. */
  isDue(steps = 1): boolean {
    this.#steps += steps;
    if (this.#steps < STEPS_BETWEEN_LOOKS) return false;
    this.#total += this.#steps;
    this.#steps = 0;
    return performance.now() - this.#startedAt > SLICE_MS || this.#isTooMuch();
  }

  /** Yields to other work. Throws a ToolCallError after an abort, and if the work takes too many steps. */
  async pass(): Promise<void> {
    // defence: tools-work-budget
    if (this.#isTooMuch())
      throw failure('too_large', this.#options.tooMuch ?? 'The call takes too many steps. Narrow its input.');
    // defence: tools-work-turn
    await nextTurn();
    // defence: tools-work-abort
    throwIfAborted(this.#options.signal);
    this.#startedAt = performance.now();
  }

  #isTooMuch(): boolean {
    return this.#options.maxSteps !== undefined && this.#total > this.#options.maxSteps;
  }
}

/** Number of paths that are checked in one turn of the event loop. A check costs about 10 µs. */
const PATHS_IN_A_TURN = 64;

/** Calls `check` for each path, and yields to other work in between. */
export async function checkInTurns<T>(items: readonly T[], check: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    // defence: paths-in-turns
    if (index > 0 && index % PATHS_IN_A_TURN === 0) await nextTurn();
    check(item);
  }
}

/** Number of elements that are sorted together. */
const SORTED_AT_ONCE = 1_024;

/** A sorted copy of a list. The sort is stable. */
export async function sortInSlices<T>(
  items: readonly T[],
  compare: (one: T, other: T) => number,
  slices: WorkSlices,
): Promise<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += SORTED_AT_ONCE) {
    runs.push(items.slice(at, at + SORTED_AT_ONCE).sort(compare));
    if (slices.isDue(SORTED_AT_ONCE * 10)) await slices.pass();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const other = runs[at + 1];
      merged.push(other === undefined ? runs[at]! : await mergeRuns(runs[at]!, other, compare, slices));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergeRuns<T>(
  one: readonly T[],
  other: readonly T[],
  compare: (one: T, other: T) => number,
  slices: WorkSlices,
): Promise<T[]> {
  const merged: T[] = [];
  let [left, right] = [0, 0];
  while (left < one.length && right < other.length) {
    if (slices.isDue()) await slices.pass();
    merged.push(compare(one[left]!, other[right]!) <= 0 ? one[left++]! : other[right++]!);
  }
  for (; left < one.length; left += 1) merged.push(one[left]!);
  for (; right < other.length; right += 1) merged.push(other[right]!);
  return merged;
}
