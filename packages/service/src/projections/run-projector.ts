import { ResponseReducer } from '@toolscript/core/history';
import type { StreamEvent, ThreadStore } from '@toolscript/core/protocol';
import { eventsFrom } from '../runs/run-history.js';
import type { ProjectedItem, Projection } from './projection.js';

/** Maximum number of runs whose fold is cached. The projector folds other runs again from their first event. */
const MAX_REMEMBERED = 200;

interface FoldedRun {
  readonly reducer: ResponseReducer;
  first: StreamEvent | undefined;
  nextSeq: number;
  /** The last written text of each item, by position. */
  readonly written: string[];
}

/** Folds the stored events of runs, and writes the result to a projection. */
export class RunProjector {
  readonly #threads: ThreadStore;
  readonly #projection: Projection;
  /** The cached runs, in the order of their last use. */
  readonly #foldedRuns = new Map<string, FoldedRun>();

  constructor(threads: ThreadStore, projection: Projection) {
    this.#threads = threads;
    this.#projection = projection;
  }

  /** Writes the items that the events changed since this process last wrote the run. */
  async project(runId: string): Promise<void> {
    const run = this.#recall(runId);
    for (const event of await eventsFrom(run.nextSeq, (from) => this.#threads.readEvents(runId, { from }))) {
      run.reducer.apply(event);
      run.first ??= event;
      run.nextSeq = event.seq + 1;
    }
    if (run.first === undefined) return;
    const { output_items: items, status } = run.reducer.response();
    const changed: ProjectedItem[] = items
      .map((item, position) => ({ item, position, text: JSON.stringify(item) }))
      .filter(({ position, text }) => run.written[position] !== text);
    const { thread_id: threadId, turn_id: turnId, timestamp } = run.first;
    const startedAt = new Date(timestamp).toISOString();
    const { nextSeq } = run;
    await this.#projection.write({ runId, threadId, turnId, status, nextSeq, items: items.length, startedAt }, changed);
    for (const { position, text } of changed) run.written[position] = text;
  }

  /** Deletes the copy of a run that no longer exists. */
  async delete(runId: string): Promise<void> {
    this.#foldedRuns.delete(runId);
    await this.#projection.delete(runId);
  }

  #recall(runId: string): FoldedRun {
    const run = this.#foldedRuns.get(runId) ?? {
      reducer: new ResponseReducer({ runId }),
      first: undefined,
      nextSeq: 0,
      written: [],
    };
    this.#foldedRuns.delete(runId);
    this.#foldedRuns.set(runId, run);
    const [oldest] = this.#foldedRuns.keys();
    if (this.#foldedRuns.size > MAX_REMEMBERED && oldest !== undefined) this.#foldedRuns.delete(oldest);
    return run;
  }
}
