import {
  RunFenceSchema,
  type Approval,
  type ApprovalState,
  type Run,
  type RunFence,
  type StoredDecision,
  type Thread,
  type Turn,
} from '@toolscript/core/protocol';
import { isFinalRunState, MemoryHeaps, present } from '@toolscript/core/internal';
import {
  type DocumentLimits,
  type HeapLimits,
  type OwnerFilter,
  type ThreadInstructions,
  type WorkerNotice,
  DEFAULT_PAGE,
} from '@toolscript/core/ports';
import { MemoryDocuments } from './memory-documents.js';
import { ChangeBoard, principalKey } from '../change-board.js';
import { parseShape, readCursor, writeCursor } from '../shapes.js';
import { storeErrors } from '../store-errors.js';
import { isLeaseHeld, stateAfter } from '../store-rules.js';

export interface MemoryStoresOptions {
  /** The clock for leases and expiries, in ms since 1970. Default: the system clock. */
  now?: (() => number) | undefined;
  documentLimits?: Partial<DocumentLimits> | undefined;
  heapLimits?: Partial<HeapLimits> | undefined;
}

export interface ThreadRecord {
  readonly thread: Thread;
  /** The number of the thread's last change. Each later change of any thread has a higher number. */
  order: number;
  instructions: ThreadInstructions | undefined;
}

export interface RunRecord {
  readonly run: Run;
  readonly turn: Turn;
  /** Creation order. */
  readonly position: number;
  leaseMs: number;
  /** The JSON texts of the events; the index is the `seq`. A copy in a branch shares those of its original. */
  readonly events: string[];
}

export interface ApprovalRecord {
  readonly approval: Approval;
  readonly position: number;
}

interface AnnouncedWorker {
  readonly notice: WorkerNotice;
  readonly expiresAt: number;
}

interface IdempotentRequest {
  readonly text: string;
  readonly runId: string;
}

/** The tables of the in-memory stores, and operations that several of them share. Everything is synchronous. */
export class MemoryDatabase {
  readonly threads = new Map<string, ThreadRecord>();
  readonly runs = new Map<string, RunRecord>();
  readonly approvals = new Map<string, ApprovalRecord>();
  /** The idempotency records, by principal and key. */
  readonly requests = new Map<string, IdempotentRequest>();
  readonly workers = new Map<string, AnnouncedWorker>();
  readonly board = new ChangeBoard();
  readonly documents: MemoryDocuments;
  readonly heaps: MemoryHeaps;
  readonly now: () => number;
  #count = 0;

  constructor({ now = Date.now, documentLimits = {}, heapLimits }: MemoryStoresOptions) {
    this.now = now;
    this.heaps = new MemoryHeaps(heapLimits, now);
    const threadExists = (threadId: string) => this.threads.has(threadId);
    const runEpoch = ({ runId }: RunFence) => this.runs.get(runId)?.run.epoch;
    this.documents = new MemoryDocuments({ now, limits: documentLimits, threadExists, runEpoch });
  }

  nextPosition(): number {
    this.#count += 1;
    return this.#count;
  }

  /** Records a change of the thread. */
  touch(threadId: string): void {
    const record = this.threads.get(threadId);
    if (record === undefined) return;
    record.thread.updatedAt = this.now();
    record.order = this.nextPosition();
  }

  /** A copy of the thread for a reader, with the states of its runs. */
  threadView({ thread }: ThreadRecord): Thread {
    const states = this.threadRuns(thread.threadId).map(({ run }) => run.state);
    const activeState = (['suspended', 'running', 'queued'] as const).find((state) => states.includes(state));
    return structuredClone({ ...thread, ...present({ activeState, lastState: states.at(-1) }) });
  }

  /** The bytes of the thread's messages, events and documents. */
  threadBytes(threadId: string): number {
    return this.threadRuns(threadId).reduce(
      (sum, { turn, events }) => sum + JSON.stringify(turn.input).length + events.join('').length,
      this.documents.bytesOf({ kind: 'thread', id: threadId }),
    );
  }

  threadRuns(threadId: string): RunRecord[] {
    return [...this.runs.values()].filter(({ run }) => run.threadId === threadId);
  }

  runApprovals(runId: string): ApprovalRecord[] {
    return [...this.approvals.values()].filter(({ approval }) => approval.runId === runId);
  }

  /** Returns the run that the fence identifies. Throws a `StaleEpochError` unless the writer holds the run. */
  fencedRun(fence: RunFence): RunRecord {
    const { runId, epoch } = parseShape(RunFenceSchema, fence, 'fence');
    const record = this.runs.get(runId);
    if (record?.run.epoch === epoch && record.run.state === 'running') return record;
    throw storeErrors.runNotHeld(runId, epoch);
  }

  isHeld({ run, leaseMs }: RunRecord): boolean {
    return run.state === 'running' && isLeaseHeld(this.now(), run.leaseExpiresAt ?? 0, leaseMs);
  }

  /** Moves the run to a state in which no worker holds it. */
  leave(record: RunRecord, change: Partial<Run>): void {
    const { leftBy = record.run.owner } = record.run;
    delete record.run.parked;
    Object.assign(record.run, change, { updatedAt: this.now() });
    if (change.state === 'queued' && leftBy !== undefined) Object.assign(record.run, { leftBy });
    else {
      delete record.run.leftBy;
      delete record.run.deaths;
    }
    delete record.run.owner;
    delete record.run.leaseExpiresAt;
    this.touch(record.run.threadId);
    this.announce(record.run);
  }

  /** Announces a change of a run or of one of its approvals. */
  announce({ runId, principal }: Pick<Run, 'runId' | 'principal'>): void {
    this.board.announce(runId);
    this.board.announce(principalKey(principal));
  }

  settle({ approval }: ApprovalRecord, outcome: ApprovalState | { decision: StoredDecision; by: string }): void {
    approval.decidedAt = this.now();
    if (typeof outcome === 'string') approval.state = outcome;
    else {
      approval.state = stateAfter(outcome.decision);
      approval.decision = structuredClone(outcome.decision);
      approval.decidedBy = outcome.by;
    }
    this.touch(approval.threadId);
  }

  cancelPending(runId: string): void {
    for (const record of this.runApprovals(runId))
      if (record.approval.state === 'pending') this.settle(record, 'cancelled');
  }

  /** Queues the run if it is suspended and has no pending approvals. Returns whether it queued the run. */
  queueIfDecided(runId: string): boolean {
    const record = this.runs.get(runId);
    if (record?.run.state !== 'suspended') return false;
    if (this.runApprovals(runId).some(({ approval }) => approval.state === 'pending')) return false;
    this.leave(record, { state: 'queued', reason: reasonAfter(record.run) });
    return true;
  }
}

export const { notFound } = storeErrors;

/** The reason of the next claim of a suspended run. */
export function reasonAfter({ parked }: Run): Run['reason'] {
  return parked === undefined ? 'resumed' : 'interrupted';
}

export function isOwned({ principal }: { readonly principal: string }, owner: OwnerFilter = {}): boolean {
  return (owner.principal ?? principal) === principal;
}

export function isFinal({ run }: RunRecord): boolean {
  return isFinalRunState(run.state);
}

interface PageOptions {
  readonly kind: string;
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
  /** Sorts the highest position first. */
  readonly isDescending?: boolean | undefined;
}

/** The page of records after the cursor, by position. */
export function memoryPage<Row>(
  rows: readonly Row[],
  positionOf: (row: Row) => number,
  { kind, after, limit = DEFAULT_PAGE, isDescending = false }: PageOptions,
): { rows: Row[]; next?: string | undefined } {
  const sign = isDescending ? -1 : 1;
  const start = after === undefined ? Number.NEGATIVE_INFINITY : sign * readCursor(kind, after);
  const later = rows
    .filter((row) => sign * positionOf(row) > start)
    .toSorted((left, right) => sign * (positionOf(left) - positionOf(right)));
  const page = later.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page,
    ...(last === undefined || later.length === page.length ? {} : { next: writeCursor(kind, positionOf(last)) }),
  };
}
