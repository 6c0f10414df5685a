import { pruneScripts } from '@toolscript/core';
import { isFinalRunState } from '@toolscript/core/internal';
import type { LoggedRun, LoggedRunPage } from '@toolscript/core/ports';
import type { EventLog, HarnessStore, ServiceStores } from '@toolscript/core/protocol';
import type { Projection } from '../projections/projection.js';
import { collectHeaps } from './heap-retention.js';
import { allPageItems } from './run-history.js';

/** The interval between searches of the log, in ms. */
const CLEAN_MS = 60_000;

/** Time for which the log keeps a run for its readers after the run has ended, in ms. */
const KEEP_MS = 60_000;

/** The interval between deletions of old scripts, in ms. */
const PRUNE_MS = 86_400_000;

export interface RunCleanerSettings {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  readonly scripts: HarnessStore;
  readonly projection?: Projection | undefined;
  /** Default: 60 s. */
  readonly keepMs?: number | undefined;
  readonly onFault: (error: unknown) => void;
}

/**
 * Deletes unneeded data: the logs of deleted runs, and of ended runs whose events are in the thread store; from the
 * logs of other runs, stored events that are older than one interval; scripts that ended long ago; old heaps that no item
 * names; and expired documents. Several processes may delete data at the same time.
 */
export class RunCleaner {
  readonly #settings: RunCleanerSettings;
  #timer: NodeJS.Timeout | undefined;
  #cleaning: Promise<void> | undefined;
  /** The time of the last pruning, by the monotonic clock. */
  #prunedAt: number | undefined;
  #isStopped = false;
  /** The number of the next event of each run whose log the last search kept. */
  #seenLogs = new Map<string, number>();

  constructor(settings: RunCleanerSettings) {
    this.#settings = settings;
  }

  start(): void {
    this.#timer = setInterval(() => void this.clean(), CLEAN_MS).unref();
    void this.clean();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#cleaning;
  }

  /** Deletes the data that is unneeded now. Never rejects. */
  clean(): Promise<void> {
    this.#cleaning ??= this.#clean()
      .catch((error: unknown) => this.#settings.onFault(error))
      .finally(() => (this.#cleaning = undefined));
    return this.#cleaning;
  }

  async #clean(): Promise<void> {
    const { log, scripts, stores } = this.#settings;
    while ((await stores.documents.deleteExpired()) > 0 && !this.#isStopped);
    const logged = await allPageItems<LoggedRunPage, LoggedRun>(
      (after) => log.list(after),
      (page) => page.runs,
    );
    const seen = new Map<string, number>();
    for (const run of logged) {
      if (this.#isStopped) return;
      if (!(await this.#deleteDone(run))) seen.set(run.runId, run.nextSeq);
    }
    this.#seenLogs = seen;
    if (this.#prunedAt !== undefined && performance.now() - this.#prunedAt < PRUNE_MS) return;
    const { heaps } = scripts;
    const isStopped = () => this.#isStopped;
    // A process that was just started does not know when another one last collected.
    const changedMs = this.#prunedAt === undefined ? Infinity : 2 * PRUNE_MS;
    if (heaps !== undefined) await collectHeaps({ stores, heaps }, { changedMs, isStopped });
    await pruneScripts(scripts);
    this.#prunedAt = performance.now();
  }

  /** Deletes the log of a run that needs none. Otherwise, trims the log and returns false. */
  async #deleteDone({ runId, nextSeq }: LoggedRun): Promise<boolean> {
    const { stores, log, projection, keepMs = KEEP_MS } = this.#settings;
    const run = await stores.runs.get(runId);
    if (run === undefined) {
      await projection?.delete(runId);
      await log.delete(runId);
      return true;
    }
    const isOver = isFinalRunState(run.state) && Date.now() - run.updatedAt >= keepMs;
    if (isOver && (await this.#isStored(runId, nextSeq))) {
      await log.delete(runId, run.epoch);
      return true;
    }
    // The events that the previous search found. Newer events stay in the log for its readers.
    const seen = this.#seenLogs.get(runId) ?? 0;
    if (seen > 0 && (await this.#isStored(runId, seen))) await log.trim(runId, seen, run.epoch);
    return false;
  }

  /** Whether the thread store and the projection have the events before `seq`. */
  async #isStored(runId: string, seq: number): Promise<boolean> {
    const { stores, projection } = this.#settings;
    if ((await stores.threads.nextSeq(runId)) < seq) return false;
    return projection === undefined || (await projection.position(runId)) >= seq;
  }
}
