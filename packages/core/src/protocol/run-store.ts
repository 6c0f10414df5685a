import { z } from 'zod';
import type { RunWatchOptions } from './event-log.js';
import { DecisionSchema, type Approval } from './approval-records.js';
import { ApprovalRequestSchema } from './approvals.js';
import { OutputItemSchema } from './items.js';
import { PageQuerySchema, StoreIdSchema, TimeSchema, type OwnerFilter, type RunFence } from './store-shapes.js';
import { NewThreadSchema } from './new-thread.js';

/** States in which a run has not ended. */
export const ACTIVE_RUN_STATES = ['queued', 'running', 'suspended'] as const;

/** States in which a run has ended. */
export const FINAL_RUN_STATES = ['completed', 'failed', 'cancelled', 'incomplete'] as const;

/**
 * `queued`: a worker may claim the run. `running`: a worker holds the run under a lease. `suspended`: the run waits for
 * decisions, or, if it is `parked`, for an operator, and nobody holds it. The rest are final.
 */
export const RunStateSchema = z.enum([...ACTIVE_RUN_STATES, ...FINAL_RUN_STATES]);
export type RunState = z.infer<typeof RunStateSchema>;

/** The reason for the claim: `interrupted` if an earlier worker neither ended nor suspended the run. */
export const RunReasonSchema = z.enum(['new', 'resumed', 'interrupted']);
export type RunReason = z.infer<typeof RunReasonSchema>;

const OptionsSchema = z.record(z.string(), z.unknown());

/**
 * The abilities that a worker must have to continue a run: `agent:SLUG`, `key:ID` (a suspension key),
 * `bridge:VERSION` (of the sandbox). Stores only compare the texts.
 */
const RunNeedsSchema = z.array(z.string().regex(/^[!-~]{1,200}$/u)).max(100);

/** One execution of a turn. A run that is resumed or recovered is the same run. */
export const RunSchema = z.strictObject({
  runId: StoreIdSchema,
  threadId: StoreIdSchema,
  turnId: StoreIdSchema,
  /** The owner of the run. */
  principal: z.string(),
  /** The workspace of the run's thread. */
  workspace: z.string(),
  state: RunStateSchema,
  reason: RunReasonSchema,
  /** The number of times that the run was claimed: the fencing token of the claim. */
  epoch: z.number().int().min(0),
  /**
   * The submitter's choices (agent, model, overrides), and `trace`, the trace context of the request. The store only
   * compares the choices of repeated requests.
   */
  options: OptionsSchema,
  /** Only a worker that opens all of these may claim the run. Sorted. */
  needs: RunNeedsSchema,
  /** The holder and the expiry of the run's lease. Present only in the state `running`. */
  owner: z.string().optional(),
  leaseExpiresAt: TimeSchema.optional(),
  /** The first holder that has left the run unfinished since the run was created or suspended. */
  leftBy: z.string().optional(),
  /** Present if a branch has made the run as a copy of another one. */
  isCopy: z.literal(true).optional(),
  /**
   * The number of holders that died, or could not write the run, since the run was created or suspended, or made
   * progress. Absent: none.
   */
  deaths: z.number().int().min(1).optional(),
  /** The reason why the run waits until an operator resumes it. Present only in the state `suspended`. */
  parked: z.string().optional(),
  /** The time at which the run's cancellation was requested. */
  cancelRequestedAt: TimeSchema.optional(),
  createdAt: TimeSchema,
  updatedAt: TimeSchema,
  /** The reason of the failure, if the run has failed. */
  error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
});
export type Run = z.infer<typeof RunSchema>;

/** One input of a user. The run answers the input. */
export const TurnSchema = z.strictObject({
  turnId: StoreIdSchema,
  threadId: StoreIdSchema,
  runId: StoreIdSchema,
  input: z.array(OutputItemSchema),
  createdAt: TimeSchema,
});
export type Turn = z.infer<typeof TurnSchema>;

const LeaseSchema = z.strictObject({
  /** The claimer's name, for users to read. */
  owner: z.string(),
  /** The time that the run is held without `renew`, in ms. */
  leaseMs: z.number().int().min(1),
});

const StorageBoundsSchema = z.strictObject({
  /** In bytes of messages, events and documents; a character of a message or an event counts as one byte. */
  bytesPerThread: z.number().int().min(1),
  bytesPerPrincipal: z.number().int().min(1),
});
/**
 * The sizes that a run's thread, and all threads and documents of its principal together, must not exceed when the run
 * is created. Documents of a workspace count for nobody.
 */
export type StorageBounds = z.infer<typeof StorageBoundsSchema>;

export const RunDraftSchema = z.strictObject({
  principal: z.string().min(1),
  /** The existing thread to continue, or the thread to create. */
  thread: z.union([z.strictObject({ threadId: StoreIdSchema }), z.strictObject({ create: NewThreadSchema })]),
  input: z.array(OutputItemSchema).min(1),
  options: OptionsSchema.optional(),
  /** Default: none, so that every worker may claim the run. */
  needs: RunNeedsSchema.optional(),
  /** Requests of one principal with the same key return the same run. */
  idempotencyKey: z.string().min(1).max(256).optional(),
  /** The caller executes the run itself: the run is created `running`, with epoch 1. */
  claim: LeaseSchema.optional(),
  /** Default: no bounds. */
  bounds: StorageBoundsSchema.optional(),
  /** The ids of the run and its turn. Default: new ids. */
  runId: StoreIdSchema.optional(),
  turnId: StoreIdSchema.optional(),
});
export type RunDraft = z.input<typeof RunDraftSchema>;

/** The result of `RunStore.create`. */
export interface CreatedRun {
  readonly run: Run;
  readonly turn: Turn;
  /** False if an earlier request with the same idempotency key has created the run. */
  readonly isNew: boolean;
}

/** Options of `RunStore.claim`. */
export const ClaimOptionsSchema = z.strictObject({
  ...LeaseSchema.shape,
  /** Claims only runs of threads with one of these workspaces. Default: any workspace. */
  workspaces: z.array(z.string()).optional(),
  /**
   * Claims only runs whose needs are among these, and runs whose cancellation was requested and that no announced
   * worker may claim otherwise. Default: any needs.
   */
  opens: RunNeedsSchema.optional(),
  /** The needs of the claimer's scripts. The claim adds them to the needs of the run. Default: none. */
  needs: RunNeedsSchema.optional(),
  /** Claims only runs of principals that hold fewer runs than this number. Ignored with `runId`. Default: no limit. */
  maxPerPrincipal: z.number().int().min(1).optional(),
  /** Claims only this run. */
  runId: StoreIdSchema.optional(),
  /**
   * With `runId`: allows claiming a suspended run. Its approvals stay pending: the claimer has decisions for some of
   * them, and lists the others when it suspends the run again.
   */
  evenSuspended: z.boolean().optional(),
  /**
   * The claimer has seen a fault of a store during the last lease. An expired lease then proves no death, because its
   * holder could not renew it, and the claim counts none.
   */
  isAfterFault: z.boolean().optional(),
});
/** Options of `RunStore.claim`. */
export type ClaimOptions = z.input<typeof ClaimOptionsSchema>;

/** A run that a worker has claimed, with everything that the worker needs. */
export interface ClaimedRun {
  readonly run: Run;
  readonly turn: Turn;
  /** The decided approvals of the run, in order of their creation. */
  readonly approvals: readonly Approval[];
}

/** The shape of a `WorkerNotice`, for stores that check what they are given. */
export const WorkerNoticeSchema = z.strictObject({
  workerId: StoreIdSchema,
  /** The needs that the worker opens. */
  opens: RunNeedsSchema,
  /** The workspaces of the runs that the worker claims. Default: any workspace. */
  workspaces: z.array(z.string()).optional(),
  /** The time for which the notice counts, in ms. */
  leaseMs: z.number().int().min(1),
});
/** The runs that a live worker may claim, for other processes to read. */
export type WorkerNotice = z.infer<typeof WorkerNoticeSchema>;

/** The result of `RunStore.renew`. */
export interface Renewal {
  /** False if another worker has the run, or if the run has ended or was deleted. The worker must then stop at once. */
  readonly isHeld: boolean;
  readonly isCancelRequested: boolean;
}

/** An approval to create, when a run is suspended. */
export const ApprovalDraftSchema = z.strictObject({
  request: ApprovalRequestSchema,
  /** The decision, if the approval is already decided, for example by a rule. Default: pending. */
  decided: z.strictObject({ decision: DecisionSchema, by: z.string() }).optional(),
});
/** An approval to create, when a run is suspended. */
export type ApprovalDraft = z.input<typeof ApprovalDraftSchema>;

/** The end of a run. */
export const RunEndSchema = z.strictObject({
  state: z.enum(FINAL_RUN_STATES),
  error: RunSchema.shape.error,
});
/** The end of a run. */
export type RunEnd = z.input<typeof RunEndSchema>;

/** The conditions of a list. A run must meet all of them. */
export const RunQuerySchema = PageQuerySchema.extend({
  state: RunStateSchema.optional(),
  principal: z.string().optional(),
  threadId: z.string().optional(),
  /**
   * Lists only parked runs, and unopened ones: runs that are free, but that no announced worker may claim. In a
   * workspace without an announced worker, the run of a dead holder is not unopened, because the user continues it with
   * the program that held it.
   */
  stuck: z.literal(true).optional(),
});
/** The conditions of a list. A run must meet all of them. */
export type RunQuery = z.input<typeof RunQuerySchema>;

/** A page of runs. */
export interface RunPage {
  readonly runs: readonly Run[];
  /** The `after` of the next page; present if there are more entries. */
  readonly next?: string | undefined;
}

/**
 * Stores runs and their holders. The stored runs are also the queue.
 *
 * - Each thread has at most one `running` run, and the other runs of the thread wait. If the lease of the `running` run
 *   has expired, this run is claimed first.
 * - Each claim increments the run's epoch. Writes of an older epoch are rejected with a `StaleEpochError`.
 * - A run is held while its lease lasts. A lease that expires more than twice its length ahead was written before the
 *   clock was set back, and is ignored.
 * - Each function is one transaction. After it resolves, its effect survives the death of the process and, if the store
 *   is on a disk, a power failure.
 *
 * For malformed arguments, a function throws or rejects with a `ToolscriptUsageError`; if the store fails, the function
 * rejects with a `StoreUnavailableError`.
 */
export interface RunStore {
  /**
   * Creates the turn, its input and its run, and with `create` also the thread. Rejects with a `NotFoundError` if the
   * thread does not exist or belongs to another principal, with an `IdempotencyConflictError` if an earlier request
   * used the idempotency key with a different thread, input or options, and with a `ThreadBusyError` if `claim` is set
   * and another run of the thread is queued or running, and with a `StorageLimitError` if `bounds` are exceeded, before
   * anything of a branch is copied. A thread that branches from another one is created as by
   * `ThreadStore.create`.
   */
  create(draft: RunDraft): Promise<CreatedRun>;
  /** With `principal`, returns undefined for a run of another principal. */
  get(runId: string, owner?: OwnerFilter): Promise<Run | undefined>;
  /**
   * Claims the oldest run that is queued or whose lease has expired. Runs of the principals with the smallest share of
   * held runs come first (`fairShares`), so that a principal with many runs does not hold up the others. Returns
   * undefined if there is no such run. A run whose cancellation was requested is claimed like any other: its worker
   * writes the run's last events and finishes the run.
   */
  claim(options: ClaimOptions): Promise<ClaimedRun | undefined>;
  /**
   * Renews the lease. Resolves even if the lease is lost: see `Renewal`. `hasProgressed`: the holder has stored work that
   * no earlier holder had stored, so the count of `deaths` ends.
   */
  renew(fence: RunFence, leaseMs: number, how?: { readonly hasProgressed?: boolean | undefined }): Promise<Renewal>;
  /**
   * Returns the run to the queue, as in an orderly shutdown or after a fault of a store. `isDead`: the holder is dead,
   * and another process releases the run, or the holder could not write the run although its stores can be written. This
   * counts as one of the run's `deaths`, as does an expired lease. Does nothing if the epoch is stale.
   */
  release(fence: RunFence, how?: { readonly isDead?: boolean | undefined }): Promise<void>;
  /**
   * Creates these approvals and suspends the run in one transaction. Existing approvals keep their decisions; pending
   * approvals that are not listed are cancelled. If all approvals are decided, the run is queued at once. Rejects with
   * a `StaleEpochError` if the epoch is stale. A repeated call returns the current run.
   */
  suspend(fence: RunFence, approvals: readonly ApprovalDraft[]): Promise<Run>;
  /**
   * Suspends the run until `resume` or `requestCancel` queues it again: another worker would only fail as well. `reason`
   * is for the operator. Rejects with a `StaleEpochError` if the epoch is stale. A repeated call returns the current run.
   */
  park(fence: RunFence, reason: string): Promise<Run>;
  /**
   * Queues a parked run, as after an interruption, and without `deaths`. Does nothing if the run is not parked. Returns
   * undefined if there is no such run.
   */
  resume(runId: string): Promise<Run | undefined>;
  /**
   * Ends the run and cancels its pending approvals. Rejects with a `StaleEpochError` if the epoch is stale. A repeated
   * call with the same state returns the run unchanged.
   */
  finish(fence: RunFence, end: RunEnd): Promise<Run>;
  /**
   * Requests the run's cancellation. A suspended run is queued, and its pending approvals are cancelled. The holder of
   * a run learns of the request through `renew`. Does nothing if the run has ended or its cancellation was already
   * requested. Returns undefined if there is no such run.
   */
  requestCancel(runId: string): Promise<Run | undefined>;
  /** Announces a worker, or replaces its earlier notice, until `leaseMs` have passed. */
  announce(worker: WorkerNotice): Promise<void>;
  /** Ends the notice of a worker. */
  withdraw(workerId: string): Promise<void>;
  /** The announced workers, in order of their ids. */
  workers(): Promise<readonly WorkerNotice[]>;
  /** Writes one small row, over the earlier one. Rejects with a `StoreUnavailableError` if the store cannot be written. */
  probe(): Promise<void>;
  /** Lists runs, oldest first. A run that is created while pages are read appears on a later page. */
  list(query?: RunQuery): Promise<RunPage>;
  /**
   * Yields after the state of a run may have changed, or after a cancellation may have been requested, in this process
   * or another one. With `principal`, yields after one of the principal's threads, runs or approvals may have changed,
   * but not for each event of a run. May yield without cause, and once for several changes. Ends when the signal
   * aborts.
   */
  watch(options: RunWatchOptions): AsyncIterable<void>;
}

export function isFinalRunState(state: RunState): boolean {
  return (FINAL_RUN_STATES as readonly RunState[]).includes(state);
}
