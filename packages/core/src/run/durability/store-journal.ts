import {
  present,
  RunInterruption,
  StaleEpochError,
  type AppendOptions,
  type Claim,
  type ClaimedJournal,
  type Decision,
  type JournalContent,
  type Operation,
  type ScriptStatus,
  type Settlement,
  type TakeOptions,
  type HarnessStore,
} from '../../protocol/index.js';
import type { TapeDelivery, ScriptJournal, ScriptStart } from '../../calls/session/index.js';
import { sha256 } from '../../text/crypto.js';
import type { PayloadSink, RunContext } from '../../protocol/run-context.js';
import {
  JOURNAL_VERSION,
  withoutResult,
  type EndedLine,
  type JournalLine,
  type StartedLine,
  type StoredOutcome,
} from './journal-lines.js';

/** `power`: each intent is flushed to disk before the call starts. */
export type Durability = 'process' | 'power';

/** The store for the journals of a harness, and the failures that a write survives. */
export interface Keeping {
  readonly leases: Leases;
  readonly durability: Durability;
}

/** The thread, the run and the owner of a script, for lists. */
export type ListedAs = Pick<ScriptStatus, 'threadId' | 'runId' | 'principal'>;

/** The script that a journal belongs to. */
interface JournalScript {
  readonly scriptId: string;
  /** The epoch that is already claimed; 0 for a new script. */
  readonly epoch: number;
  /** The id of the structured call that the script makes. */
  readonly callId?: string | undefined;
}

export function listedAs({ identity, principal, sink }: Pick<RunContext, 'identity' | 'principal' | 'sink'>): ListedAs {
  const { runId, rootRunId = runId } = sink.identity ?? {};
  return { threadId: identity.threadId, runId: rootRunId, principal };
}

/**
 * Writes one script's journal to a store. The lines are buffered until the script is about to change something, a
 * decision is made, or the script is suspended or fails. So the store has no lines of a successful script that only
 * makes reads without approvals.
 */
export class StoreJournal implements ScriptJournal {
  readonly isStored = true;
  readonly #leases: Leases;
  readonly #flushEvents: PayloadSink['flush'];
  readonly #durability: Durability;
  readonly #scriptId: string;
  readonly #about: Omit<StartedLine, 't' | 'start'>;
  readonly #listedAs: ListedAs;
  /** The claim of the run. */
  readonly #fence: AppendOptions['fence'];
  readonly #confirmHeld: RunContext['confirmHeld'];
  /** The confirmation after the first append. Later appends wait for it, too. */
  #confirming: Promise<void> | undefined;
  #epoch: number;
  #lines: string[] = [];
  /** The status that the next append stores. Undefined: the stored status stays. */
  #status: ScriptStatus | undefined;
  #isOpen: boolean;
  #opening: Promise<void> | undefined;
  /** The append in progress. */
  #appending: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #hasWritten: boolean;
  #onLost: (error: unknown) => void = () => {};
  #isLeft = false;
  /** The status of a script that has ended or is suspended. The script's detached tasks may continue. */
  #closedAs: ScriptStatus | undefined;

  constructor({ leases, durability }: Keeping, context: RunContext, { scriptId, epoch, callId }: JournalScript) {
    this.#leases = leases;
    const { identity, sink } = context;
    this.#flushEvents = sink.flush;
    this.#durability = durability;
    this.#scriptId = scriptId;
    this.#listedAs = listedAs(context);
    this.#fence = context.fence;
    this.#confirmHeld = leases.store.hasRuns === true ? undefined : context.confirmHeld;
    const { runId } = this.#listedAs;
    this.#about = { version: JOURNAL_VERSION, atMs: Date.now(), identity, runId, durability, callId };
    this.#epoch = epoch;
    this.#isOpen = epoch > 0;
    this.#hasWritten = epoch > 0;
    if (this.#isOpen) this.#hold();
  }

  get epoch(): number {
    return this.#epoch;
  }

  get runId(): string | undefined {
    return this.#listedAs.runId;
  }

  started(start: ScriptStart): void {
    this.#lines = [];
    // A journal without stored lines may start again.
    if (!this.#hasWritten) this.#failure = undefined;
    this.#push({ t: 'started', start, ...this.#about });
  }

  whenLost(act: (error: unknown) => void): void {
    this.#onLost = act;
  }

  decided(approvalId: string, decision: Decision): void | Promise<void> {
    this.#demandStaying();
    this.#push({ t: 'decided', atMs: Date.now(), decisions: { [approvalId]: decision } });
    return this.#write();
  }

  intended(operation: Operation, isRepeatable: boolean): void | Promise<void> {
    if (operation.effect === 'read') return;
    this.#demandStaying();
    this.#push({ t: 'intent', operation, isRepeatable });
    return this.#write({ flush: this.#durability === 'power' });
  }

  finished(operation: Operation, settlement: Settlement): void | Promise<void> {
    this.#push({ t: 'finished', settlement, ended: withoutResult(operation) });
    return this.#isOpen || this.#opening !== undefined ? this.#write() : undefined;
  }

  delivered({ ended, ...delivery }: TapeDelivery): void | Promise<void> {
    this.#push({ t: 'delivered', ...delivery, ended: ended.map(withoutResult) });
    return this.#isOpen || this.#opening !== undefined ? this.#write() : undefined;
  }

  /** Resolves when this process owns the script and its epoch is known. */
  async opened(): Promise<void> {
    this.#opening ??= this.#isOpen ? Promise.resolve() : this.#open();
    await this.#opening;
  }

  keep(): void | Promise<void> {
    this.#demandStaying();
    return this.#write();
  }

  made(calls: TapeDelivery['calls']): void {
    if (calls.length > 0) this.#push({ t: 'made', calls });
  }

  /**
   * Stores a suspension. After the method resolves, the suspension survives a power failure. Rejects if the store does
   * not have the suspension. If the store has the suspension but did not confirm the write, `onDoubt` receives the
   * reason.
   */
  async suspended(suspension: string, status: ScriptStatus, onDoubt: (error: unknown) => void): Promise<void> {
    this.#demandStaying();
    this.#push({ t: 'suspended', atMs: Date.now(), sha256: sha256(suspension) });
    this.#closedAs = status;
    try {
      await this.#write({ flush: true, slot: suspension, status });
    } catch (error) {
      if (!(await this.#has(suspension))) throw error;
      onDoubt(error);
    }
    await this.#leases.release(this.#scriptId, this.#epoch);
  }

  /**
   * Stores the end of the script. A successful script that wrote nothing leaves no entry. Rejects if the end is not
   * written yet.
   */
  async ended(line: Omit<EndedLine, 't' | 'outcome'>, outcome: () => StoredOutcome | undefined): Promise<void> {
    const isUnwritten = line.status === 'completed' && !this.#isOpen && this.#opening === undefined;
    this.#push({ t: 'ended', ...line, ...(isUnwritten ? {} : { outcome: outcome() }) });
    const { atMs: _atMs, ...ended } = line;
    const status = { state: 'ended' as const, ...this.#listedAs, ended };
    this.#closedAs = status;
    if (isUnwritten) return;
    const options = { status, slot: null };
    const lines = this.#lines;
    try {
      await this.#write(options);
    } catch (error) {
      if (this.#isOpen && !(error instanceof StaleEpochError)) this.#endLater(lines, options);
      throw error;
    }
    await this.#leases.release(this.#scriptId, this.#epoch);
  }

  leave(): void {
    this.#isLeft = true;
  }

  #demandStaying(): void {
    if (this.#isLeft) throw new RunInterruption();
  }

  /** Stores the remaining lines and releases the script, so that another process may recover it. Never rejects. */
  async interrupt(): Promise<void> {
    if (!this.#isOpen && this.#opening === undefined) return;
    try {
      await this.#write();
    } catch {
      // The lines that are already stored suffice to recover the script.
    }
    await this.#leases.release(this.#scriptId, this.#epoch);
  }

  /** True: a write failed, or another process has claimed the script. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  #push(line: JournalLine): void {
    if (!this.#isLeft) this.#lines.push(JSON.stringify(line));
  }

  #write(options: AppendOptions = {}): void | Promise<void> {
    if (this.#isLeft) return this.#appending;
    if (!this.#isOpen) {
      this.#opening ??= this.#open();
      return this.#opening.then(() => this.#append(options));
    }
    return this.#append(options);
  }

  /**
   * Writes the new lines. Throws after a failed append, because a journal without its middle describes a different run.
   */
  #append(options: AppendOptions): void | Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const lines = this.#lines;
    this.#lines = [];
    // Without new lines, the append in progress contains everything.
    if (lines.length === 0 && options.flush !== true) return this.#appending;
    const status = options.status ?? this.#status;
    this.#status = undefined;
    let written: void | Promise<void>;
    try {
      written = this.#journal.append(this.#scriptId, this.#epoch, lines, {
        ...options,
        ...(status === undefined ? {} : { status }),
        // A worker that has lost the run reads no script that the next worker could not find.
        ...(this.#hasWritten ? {} : present({ fence: this.#fence })),
      });
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    written = this.#confirmed(written);
    if (written === undefined) {
      this.#hasWritten = true;
      return;
    }
    this.#appending = written.then(
      () => {
        this.#hasWritten = true;
      },
      (error: unknown) => {
        this.#failure ??= { error };
        throw error;
      },
    );
    return this.#appending;
  }

  /**
   * The next worker claims the run, and then looks for its scripts. This worker stores the script, and then looks for a
   * newer claim. So the next worker finds the script, or this worker finds the claim and has no effect.
   */
  // defence: stored-scripts-confirm-their-run
  #confirmed(written: void | Promise<void>): void | Promise<void> {
    if (this.#hasWritten || this.#confirmHeld === undefined) return written;
    this.#confirming ??= Promise.resolve(written).then(this.#confirmHeld);
    return Promise.all([written, this.#confirming]).then(() => {});
  }

  async #open(): Promise<void> {
    // defence: events-before-effects
    await this.#flushEvents?.();
    this.#demandStaying();
    const taken =
      (await this.#leases.store.claim.take(this.#scriptId, 0, this.#leases.holder)) ??
      (await this.#leases.takeUnstored(this.#scriptId, { state: 'running', ...this.#listedAs }));
    if (taken === undefined)
      throw new Error(
        `Another process has already claimed ${this.#scriptId}. Wait until that process has ended the script.`,
      );
    this.#epoch = taken.epoch;
    this.#isOpen = true;
    this.#status = this.#closedAs ?? { state: 'running', ...this.#listedAs };
    // If the script has ended or is suspended, only its detached tasks still write, so this process does not hold the
    // script.
    if (this.#closedAs === undefined) this.#hold();
    else await this.#leases.release(this.#scriptId, this.#epoch);
  }

  #hold(): void {
    const lost = new StaleEpochError(
      `Another process has claimed ${this.#scriptId}. The script continues in that process.`,
    );
    this.#leases.hold(this.#scriptId, this.#epoch, () => {
      this.#failure ??= { error: lost };
      this.#onLost(lost);
    });
  }

  async #has(suspension: string): Promise<boolean> {
    const content = await this.#journal.read(this.#scriptId).catch(() => undefined);
    return content?.slot === suspension && content.damage === undefined;
  }

  /**
   * Retries a failed write of the script's end. `lines`: all lines that were not passed to the store before the end.
   */
  #endLater(lines: readonly string[], options: AppendOptions): void {
    this.#leases.finishLater(this.#scriptId, this.#epoch, async () =>
      this.#journal.append(this.#scriptId, this.#epoch, lines, options),
    );
  }

  get #journal() {
    return this.#leases.store.journal;
  }
}

/** The owner of the claim of an abandoned script. */
const ABANDONED = 'abandoned';

export interface Holder {
  /** A name for users to read. */
  readonly owner: string;
  /** The time in ms after which a claim expires unless it is renewed. */
  readonly leaseMs: number;
}

/**
 * The claims that a harness holds in its store. The class renews each claim three times per lease. If the store fails
 * to release a claim, the class retries at the next renewal. The timer does not keep the process alive.
 */
export class Leases {
  readonly store: HarnessStore;
  readonly holder: Holder;
  /** The claimed scripts, each with its epoch and the callback for a lost claim. */
  readonly #heldScripts = new Map<string, { epoch: number; onLost: () => void }>();
  /** The work to retry, by script id. */
  readonly #later = new Map<string, () => Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: HarnessStore, holder: Holder) {
    this.store = store;
    this.holder = holder;
  }

  /**
   * Claims a script that was claimed before and has no stored lines: its process died between its claim and its first
   * line. Resolves with undefined if the script has lines or was abandoned, or if a living process holds it. `status`:
   * for lists; with it, the store writes a fence, so that a process that was only slow can append nothing.
   */
  async takeUnstored(scriptId: string, status: ScriptStatus): Promise<ClaimedJournal | undefined> {
    const last = await this.store.claim.current(scriptId);
    // defence: abandoned-scripts-stay-abandoned
    if (last === undefined || last.owner === ABANDONED) return undefined;
    return this.#takeUnstored(scriptId, last, { ...this.holder, status });
  }

  /** Claims a script without stored lines for good: from now on, no process writes its journal. */
  async abandon(scriptId: string): Promise<boolean> {
    const { claim } = this.store;
    const options = { ...this.holder, owner: ABANDONED, status: { state: 'ended', threadId: '' } } as const;
    const last = await claim.current(scriptId);
    const taken =
      last === undefined ? await claim.take(scriptId, 0, options) : await this.#takeUnstored(scriptId, last, options);
    if (taken === undefined) return false;
    await claim.release(scriptId, taken.epoch);
    return isEmpty(taken);
  }

  async #takeUnstored(scriptId: string, last: Claim, options: TakeOptions): Promise<ClaimedJournal | undefined> {
    const { claim, journal } = this.store;
    if (last.isHeld || !isEmpty(await journal.read(scriptId))) return undefined;
    const taken = await claim.take(scriptId, last.epoch, options);
    // defence: unstored-scripts-have-no-lines
    if (taken === undefined || isEmpty(taken)) return taken;
    await claim.release(scriptId, taken.epoch);
    return undefined;
  }

  hold(scriptId: string, epoch: number, onLost: () => void): void {
    this.#heldScripts.set(scriptId, { epoch, onLost });
    this.#timer ??= setInterval(() => void this.#tick(), this.holder.leaseMs / 3).unref();
  }

  /** Releases a claim. If the store fails, retries at the next renewal. Never rejects. */
  async release(scriptId: string, epoch: number): Promise<void> {
    if (this.#heldScripts.get(scriptId)?.epoch === epoch) this.#heldScripts.delete(scriptId);
    await this.#orLater(scriptId, () => this.store.claim.release(scriptId, epoch));
    this.#rest();
  }

  /** Retries a failed final write until it succeeds, then releases the claim. */
  finishLater(scriptId: string, epoch: number, write: () => Promise<void>): void {
    this.#later.set(scriptId, async () => {
      await write();
      await this.release(scriptId, epoch);
    });
  }

  /** Retries the remaining work once. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#later].map(([scriptId, act]) => this.#orLater(scriptId, act)));
  }

  async #tick(): Promise<void> {
    const held = [...this.#heldScripts].map(([scriptId, { epoch, onLost }]) => this.#renew(scriptId, epoch, onLost));
    const later = [...this.#later].map(([scriptId, act]) => this.#orLater(scriptId, act));
    await Promise.all([...held, ...later]);
    this.#rest();
  }

  /**
   * Renews a claim. If the store does not answer, this process may still hold the claim; the next append fails if
   * another process holds it.
   */
  async #renew(scriptId: string, epoch: number, onLost: () => void): Promise<void> {
    const isOurs = await this.store.claim.renew(scriptId, epoch).catch(() => true);
    if (isOurs || this.#heldScripts.get(scriptId)?.epoch !== epoch) return;
    this.#heldScripts.delete(scriptId);
    onLost();
  }

  async #orLater(scriptId: string, act: () => Promise<void>): Promise<void> {
    try {
      this.#later.delete(scriptId);
      await act();
    } catch {
      this.#later.set(scriptId, act);
    }
  }

  #rest(): void {
    if (this.#heldScripts.size > 0 || this.#later.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function isEmpty(content: JournalContent | undefined): boolean {
  return content === undefined || (content.lines.length === 0 && content.damage === undefined);
}
