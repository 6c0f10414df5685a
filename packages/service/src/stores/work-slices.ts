import { setImmediate as nextTurn } from 'node:timers/promises';

/** Texts are worked on without a pause until they have this length, in UTF-16 units. */
const MAX_SLICE = 65_536;

/**
 * Long work of all callers, in slices: each turn of the event loop has at most one of the slices that follow a pause, so
 * that other work waits for one slice, however many callers there are.
 */
export class WorkSlices {
  #last: Promise<unknown> = Promise.resolve();

  /** Begins the work of one caller: a function to call after each part with its length, which may need a pause. */
  begin(): (length: number) => Promise<unknown> | undefined {
    let done = 0;
    return (length) => {
      done += length;
      if (done < MAX_SLICE) return undefined;
      done = 0;
      // defence: long-work-in-slices
      return (this.#last = this.#last.then(() => nextTurn()));
    };
  }
}
