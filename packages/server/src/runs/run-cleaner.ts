import { pruneScripts } from '@toolscript/core';
import {
  isFinalRunState,
  type EventLog,
  type HarnessStore,
  type LoggedRun,
  type LoggedRunPage,
  type ServiceStores,
} from '@toolscript/core/protocol';
import type { Projection } from '../projections/index.js';
import { allOf } from './run-history.js';

/** How often the log is searched, in ms. */
const CLEAN_MS = 60_000;

/** How long the log keeps a run that has ended, or that waits for a decision, for its readers, in ms. */
const KEEP_MS = 60_000;

/** How often old scripts are deleted, in ms. */
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
 * Deletes unneeded data: the logs of runs that have ended or wait for a decision, whose events are in the thread store
 * too, and of deleted runs; and scripts that ended long ago. Several processes may do so at once. The worker that
 * resumes a run publishes its events again.
 */
export class RunCleaner {
  readonly #settings: RunCleanerSettings;
  #timer: NodeJS.Timeout | undefined;
  #cleaning: Promise<void> | undefined;
  /** The time of the last pruning, by the monotonic clock. */
  #prunedAt: number | undefined;
  #isStopped = false;

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

  /** Never rejects. */
  clean(): Promise<void> {
    this.#cleaning ??= this.#clean()
      .catch((error: unknown) => this.#settings.onFault(error))
      .finally(() => (this.#cleaning = undefined));
    return this.#cleaning;
  }

  async #clean(): Promise<void> {
    const { log, scripts } = this.#settings;
    const logged = await allOf<LoggedRunPage, LoggedRun>(
      (after) => log.list(after),
      (page) => page.runs,
    );
    for (const run of logged) {
      if (this.#isStopped) return;
      if (await this.#isDone(run)) await log.delete(run.runId);
    }
    if (this.#prunedAt !== undefined && performance.now() - this.#prunedAt < PRUNE_MS) return;
    await pruneScripts(scripts);
    this.#prunedAt = performance.now();
  }

  async #isDone({ runId, nextSeq }: LoggedRun): Promise<boolean> {
    const { stores, projection, keepMs = KEEP_MS } = this.#settings;
    const run = await stores.runs.get(runId);
    if (run === undefined) {
      await projection?.delete(runId);
      return true;
    }
    const isAtRest = isFinalRunState(run.state) || run.state === 'suspended';
    if (!isAtRest || Date.now() - run.updatedAt < keepMs) return false;
    if (nextSeq === 0) return true;
    const last = await stores.threads.readEvents(runId, { from: nextSeq - 1, limit: 1 });
    if (last.events.length === 0) return false;
    return projection === undefined || (await projection.position(runId)) >= nextSeq;
  }
}
