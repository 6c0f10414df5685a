import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog, HarnessStore, Run, RunFence, ScriptCapability, ServiceStores } from '@toolscript/core/protocol';
import { present } from '@toolscript/core/internal';
import type { RunPage } from '@toolscript/core/ports';
import type { Projection } from '../projections/projection.js';
import type { AgentDirectory } from '../agents/index.js';
import { workerGroups } from '../agents/worker-groups.js';
import { newStoreId } from '../stores/store-rules.js';
import { deleteRemains } from './delete-thread.js';
import { executeRun } from './execute-run.js';
import { HeldRun, isLoss } from './held-run.js';
import { allPageItems } from './run-history.js';
import type { ObserveRun } from './run-observer.js';
import type { LongReads } from './long-reads.js';
import { isOwnerDead, LEASE_MS } from './run-owner.js';
import type { StoreProbe } from './store-probe.js';

/** The interval between checks for runs of dead processes, for expired leases, and for expired approvals, in ms. */
const SWEEP_MS = 1_000;

/** Maximum time for a run to stop when it returns to the queue, in ms. */
const STOP_MS = 2_000;

/** Minimum interval between checks for cancellations that another process requested, in ms. */
const CANCEL_CHECK_MS = 1_000;

const MAX_CLAIMS_AT_ONCE = 32;

/** The time for which the list of agents that a worker has read counts, in ms. */
const GROUPS_MS = 1_000;

/** The interval between notices of a worker. A notice counts for `LEASE_MS`. */
const ANNOUNCE_MS = 10_000;

/** Maximum number of holders that may die, or fail to write the run, one after the other during a run without progress. */
const MAX_DEATHS = 20;

export interface RunWorkerSettings {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  /** The store of the agents' harnesses. */
  readonly scripts: HarnessStore;
  readonly probe: StoreProbe;
  readonly projection?: Projection | undefined;
  readonly agents: AgentDirectory;
  /** Long reads, which those of the runs' conversations join. */
  readonly longReads?: LongReads | undefined;
  /** The identity of this process, from `ownOwner`. */
  readonly owner: string;
  /** Maximum number of concurrent runs. */
  readonly size: number;
  readonly workspaces?: readonly string[] | undefined;
  /** Maximum number of concurrent runs of one principal, in all processes together. Default: no maximum. */
  readonly maxPerPrincipal?: number | undefined;
  /** Receives faults of Toolscript itself and of the stores. */
  readonly onFault: (error: unknown, run: Pick<Run, 'runId' | 'threadId'> | undefined) => void;
  readonly observe?: ObserveRun | undefined;
  /** See `EventWriterSettings`. */
  readonly isPersistedElsewhere?: boolean | undefined;
}

/** Claims runs from the store and executes them, several at a time. */
export class RunWorker {
  readonly #settings: RunWorkerSettings;
  readonly #heldRuns = new Map<string, { readonly held: HeldRun; readonly work: Promise<void> }>();
  readonly #stopping = new AbortController();
  #claiming: Promise<void> | undefined;
  #isWoken = false;
  #watching: Promise<void> = Promise.resolve();
  /** Claims that this process must still release, because a run could not start or a write has failed. */
  readonly #unreleasedClaims = new Map<string, RunFence>();
  /** True: the store has failed, and this process claims no runs until the next sweep. */
  #isStoreFailing = false;
  /** The monotonic time at which this process last saw a fault of a store. */
  #faultAt = -Infinity;
  /** The last reported fault of an unavailable store. Cleared when a run ends or suspends without a stop. */
  #reportedFault: string | undefined;
  readonly #workerId = newStoreId('wrk');
  #groups: readonly ScriptCapability[] = [];
  /** The monotonic times at which the groups were read, and announced. */
  #readAt = -Infinity;
  #announcedAt = -Infinity;
  /** The index of the group that claims first. */
  #firstGroup = 0;
  #sweep: Promise<void> | undefined;
  #sweeping: NodeJS.Timeout | undefined;
  #checking: NodeJS.Timeout | undefined;

  constructor(settings: RunWorkerSettings) {
    this.#settings = settings;
  }

  /** The number of runs that this worker executes. */
  get busy(): number {
    return this.#heldRuns.size;
  }

  start(): void {
    this.#watching = this.#watch();
    const sweep = () => (this.#sweep ??= this.#sweepOnce().finally(() => (this.#sweep = undefined)));
    this.#sweeping = setInterval(() => void sweep(), SWEEP_MS).unref();
    void sweep();
  }

  /** Stops claiming, and waits at most `graceMs` for the runs to end. Runs that last longer return to the queue. */
  async drain(graceMs: number): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#sweeping);
    clearTimeout(this.#checking);
    await this.#sweep;
    await this.#claiming;
    await this.#endWithin(graceMs);
    for (const { held } of this.#heldRuns.values()) held.stop('draining');
    await this.#endWithin(STOP_MS);
    await this.#releaseFailed().catch((error: unknown) => this.#report(error, undefined));
    await this.#withdraw().catch((error: unknown) => this.#report(error, undefined));
    await this.#watching;
  }

  async #endWithin(ms: number): Promise<void> {
    const timer = new AbortController();
    const works = [...this.#heldRuns.values()].map(({ work }) => work);
    await Promise.race([Promise.all(works), delay(ms, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
  }

  async #watch(): Promise<void> {
    const { runs } = this.#settings.stores;
    try {
      for await (const _change of runs.watch({ signal: this.#stopping.signal })) {
        this.#wake();
        this.#checking ??= setTimeout(() => this.#checkCancellations(), CANCEL_CHECK_MS).unref();
      }
    } catch (error) {
      this.#settings.onFault(error, undefined);
    }
  }

  /** Stops a cancelled run if this process executes it. */
  cancel(runId: string): void {
    this.#heldRuns.get(runId)?.held.stop('cancelled');
  }

  /** Stops a deleted run if this process executes it: the run writes no more events. */
  stopDeleted(runId: string): void {
    this.#heldRuns.get(runId)?.held.stop('lost');
  }

  /**
   * Releases the claims of dead processes, and the claims in `#unreleasedClaims`. Then expires approvals, and claims runs
   * again.
   */
  async #sweepOnce(): Promise<void> {
    const { stores, workspaces } = this.#settings;
    const { runs, threads } = stores;
    this.#isStoreFailing = false;
    try {
      await this.#releaseFailed();
      if (performance.now() - this.#announcedAt >= ANNOUNCE_MS) await this.#readGroups();
      const held = await allPageItems<RunPage, Run>(
        (after) => runs.list({ state: 'running', ...after }),
        (page) => page.runs,
      );
      for (const run of held) {
        // Other processes handle the runs of the workspaces that this process does not serve.
        if (workspaces?.includes(run.workspace) === false || !isOwnerDead(run)) continue;
        await runs.release({ runId: run.runId, epoch: run.epoch }, { isDead: true });
      }
      while ((await threads.expireApprovals()).length > 0);
    } catch (error) {
      this.#report(error, undefined);
    }
    this.#wake();
  }

  #noticeId(index: number): string {
    return `${this.#workerId}_${index}`;
  }

  async #withdraw(): Promise<void> {
    for (const index of this.#groups.keys()) await this.#settings.stores.runs.withdraw(this.#noticeId(index));
  }

  /** Reads which runs this process can continue. Announces it after a change, and every `ANNOUNCE_MS`. */
  async #readGroups(): Promise<void> {
    const { agents, workspaces, stores } = this.#settings;
    const groups = await workerGroups(agents);
    this.#readAt = performance.now();
    const hasChanged = JSON.stringify(groups) !== JSON.stringify(this.#groups);
    if (!hasChanged && this.#readAt - this.#announcedAt < ANNOUNCE_MS) return;
    if (groups.length < this.#groups.length) await this.#withdraw();
    this.#groups = groups;
    const notice = { ...present({ workspaces: workspaces && [...workspaces] }), leaseMs: LEASE_MS };
    for (const [index, { opens }] of this.#groups.entries())
      await stores.runs.announce({ ...notice, workerId: this.#noticeId(index), opens: [...opens] });
    this.#announcedAt = this.#readAt;
  }

  /**
   * Ends the claims in `#unreleasedClaims`. If the stores can be written, the fault is the run's own and counts like a
   * death; a fault of a store does not count. Rejects if the store still fails.
   */
  async #releaseFailed(): Promise<void> {
    if (this.#unreleasedClaims.size === 0) return;
    const { probe, stores } = this.#settings;
    const isDead = await probe.again().then(
      () => true,
      () => false,
    );
    for (const fence of this.#unreleasedClaims.values()) {
      const deaths = isDead ? ((await stores.runs.get(fence.runId))?.deaths ?? 0) : 0;
      if (deaths >= MAX_DEATHS) await stores.runs.park(fence, deathsReason(deaths + 1)).catch(ignoreLoss);
      else await stores.runs.release(fence, { isDead });
      this.#unreleasedClaims.delete(fence.runId);
    }
  }

  /** Reports a fault. Reports the same fault of an unavailable store only once, until a run ends or suspends. */
  #report(error: unknown, run: Pick<Run, 'runId' | 'threadId'> | undefined): void {
    if (error instanceof Error && error.name === 'StoreUnavailableError') {
      this.#isStoreFailing = true;
      this.#faultAt = performance.now();
      if (run !== undefined) this.#settings.probe.fail(error);
      if (this.#reportedFault === error.message) return;
      this.#reportedFault = error.message;
    }
    this.#settings.onFault(error, run);
  }

  #checkCancellations(): void {
    this.#checking = undefined;
    for (const { held } of this.#heldRuns.values()) void this.#checkCancellation(held);
  }

  async #checkCancellation(held: HeldRun): Promise<void> {
    const run = await this.#settings.stores.runs.get(held.run.runId).catch(() => held.run);
    if (run === undefined || run.epoch !== held.run.epoch) held.stop('lost');
    else if (run.cancelRequestedAt !== undefined) held.stop('cancelled');
  }

  #wake(): void {
    this.#isWoken = true;
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = undefined;
      // A change may have been announced after `#claimAll` ended.
      if (this.#mayClaim) this.#wake();
    });
  }

  get #mayClaim(): boolean {
    const hasRoom = this.#heldRuns.size < this.#settings.size;
    return this.#isWoken && hasRoom && !this.#isStoreFailing && !this.#stopping.signal.aborted;
  }

  async #claimAll(): Promise<void> {
    while (this.#mayClaim) {
      this.#isWoken = false;
      try {
        await this.#claimWaiting();
      } catch (error) {
        this.#report(error, undefined);
      }
    }
  }

  /**
   * Claims runs while the stores can be written. Without a run that might be claimed, nothing is written.
   *
   * Doubles the number of concurrent claims while every claim finds a run, because the store flushes concurrent claims
   * together.
   */
  async #claimWaiting(): Promise<void> {
    if (!(await this.#isAnyActive())) return;
    await this.#settings.probe.check();
    if (performance.now() - this.#readAt >= GROUPS_MS) await this.#readGroups();
    this.#firstGroup += 1;
    for (const index of this.#groups.keys())
      await this.#claimOf(this.#groups[(this.#firstGroup + index) % this.#groups.length]!);
  }

  async #claimOf(group: ScriptCapability): Promise<void> {
    for (let wanted = 1; ; wanted = Math.min(wanted * 2, MAX_CLAIMS_AT_ONCE)) {
      const count = Math.min(wanted, this.#settings.size - this.#heldRuns.size);
      const claims = await Promise.allSettled(Array.from({ length: count }, () => this.#claimOne(group)));
      const failed = claims.find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
      if (count === 0 || claims.some((claim) => claim.status === 'fulfilled' && !claim.value)) return;
    }
  }

  async #isAnyActive(): Promise<boolean> {
    const { runs } = this.#settings.stores;
    for (const state of ['queued', 'running'] as const)
      if ((await runs.list({ state, limit: 1 })).runs.length > 0) return true;
    return false;
  }

  async #claimOne({ needs, opens }: ScriptCapability): Promise<boolean> {
    if (this.#stopping.signal.aborted) return false;
    const { stores, agents, longReads, owner, workspaces, maxPerPrincipal } = this.#settings;
    const where = present({ workspaces: workspaces && [...workspaces], maxPerPrincipal });
    const isAfterFault = performance.now() - this.#faultAt < LEASE_MS;
    const ofGroup = { needs: [...needs], opens: [...opens] };
    const claimed = await stores.runs.claim({ owner, leaseMs: LEASE_MS, isAfterFault, ...where, ...ofGroup });
    if (claimed === undefined) return false;
    const { run } = claimed;
    const onFault = (error: unknown) => this.#report(error, run);
    const held = await this.#open(run, onFault);
    if (held === undefined) return true;
    const { deaths = 0 } = run;
    const isHopeless = deaths > MAX_DEATHS && !held.state.isEnded && held.stopReason === undefined;
    // A cancelled run that no worker opens ends here, without its scripts.
    const isOpened = run.needs.every((need) => opens.includes(need));
    const executing = isHopeless
      ? held.park(deathsReason(deaths))
      : isOpened
        ? executeRun(held, claimed, { stores, agents, longReads })
        : held.end();
    const work = executing
      .then(() => this.#deleteRemains(held))
      .catch(onFault)
      .finally(() => this.#leave(held));
    this.#heldRuns.set(run.runId, { held, work });
    return true;
  }

  /** Returns undefined if the run was deleted, or another process has claimed it. */
  async #open(run: Run, onFault: (error: unknown) => void): Promise<HeldRun | undefined> {
    const { stores, log, observe, isPersistedElsewhere } = this.#settings;
    const settings = { stores, log, run, leaseMs: LEASE_MS, mergesDeltas: true, onFault, observe };
    try {
      return await HeldRun.open({ ...settings, isPersistedElsewhere });
    } catch (error) {
      if (isLoss(error)) return undefined;
      this.#unreleasedClaims.set(run.runId, { runId: run.runId, epoch: run.epoch });
      throw error;
    }
  }

  /** Deletes the remaining data of a run whose thread was deleted during the run. */
  async #deleteRemains({ stopReason, run: { runId, threadId } }: HeldRun): Promise<void> {
    const { stores, log, scripts, projection } = this.#settings;
    if (stopReason !== 'lost' || (await stores.runs.get(runId)) !== undefined) return;
    await deleteRemains({ log, scripts, projection }, threadId, [runId]);
  }

  #leave(held: HeldRun): void {
    const { runId, epoch } = held.run;
    held.close();
    if (held.stopReason === undefined) this.#reportedFault = undefined;
    if (held.stopReason === 'write-failed') this.#unreleasedClaims.set(runId, { runId, epoch });
    this.#heldRuns.delete(runId);
    this.#wake();
  }
}

function deathsReason(count: number): string {
  return `${count} workers ended during this run, or could not write it, and it made no progress. Look for the cause in the logs of the workers, then resume or cancel the run.`;
}

/** Another process holds the run, or the run was deleted. */
function ignoreLoss(error: unknown): void {
  if (!isLoss(error)) throw error;
}
