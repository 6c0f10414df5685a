import { z } from 'zod';
import { ApprovalRequestSchema, DecisionSchema, type Approval } from './approval-records.js';
import { OutputItemSchema, type OutputItem } from './items.js';
import { PageQuerySchema, StoreIdSchema, TimeSchema } from './store-shapes.js';
import { NewThreadSchema } from './new-thread.js';

/** States in which a run has ended. */
export const FINAL_RUN_STATES = ['completed', 'failed', 'cancelled', 'incomplete'] as const;

/**
 * `queued`: a worker may claim it. `running`: a worker holds it under a lease. `suspended`: it waits for decisions and
 * nobody holds it. The rest are final.
 */
export const RunStateSchema = z.enum(['queued', 'running', 'suspended', ...FINAL_RUN_STATES]);
export type RunState = z.infer<typeof RunStateSchema>;

/** Why a run is, or was last, claimed: `interrupted` where an earlier worker did not end it. */
export const RunReasonSchema = z.enum(['new', 'resumed', 'interrupted']);
export type RunReason = z.infer<typeof RunReasonSchema>;

const OptionsSchema = z.record(z.string(), z.unknown());

/** One execution of a turn. A run that is resumed or recovered is the same run. */
export const RunSchema = z.strictObject({
  runId: StoreIdSchema,
  threadId: StoreIdSchema,
  turnId: StoreIdSchema,
  /** Whose run it is. */
  principal: z.string(),
  /** That of its thread. */
  workspace: z.string(),
  state: RunStateSchema,
  reason: RunReasonSchema,
  /** How often it was claimed: the fencing token of the claim. */
  epoch: z.number().int().min(0),
  /** The submitter's choices: agent, model, overrides. The store does not read them. */
  options: OptionsSchema,
  /** Who holds it, and until when. While it is `running` only. */
  owner: z.string().optional(),
  leaseExpiresAt: TimeSchema.optional(),
  /** Since when its cancellation is asked for. */
  cancelRequestedAt: TimeSchema.optional(),
  createdAt: TimeSchema,
  updatedAt: TimeSchema,
  /** Why it failed, where it has. */
  error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
});
export type Run = z.infer<typeof RunSchema>;

/** One input of a user, and everything that answers it. */
export const TurnSchema = z.strictObject({
  turnId: StoreIdSchema,
  threadId: StoreIdSchema,
  runId: StoreIdSchema,
  input: z.array(OutputItemSchema),
  createdAt: TimeSchema,
});
export type Turn = z.infer<typeof TurnSchema>;

/** The holder of a run: its writes count while `epoch` is the run's. */
export const RunFenceSchema = z.strictObject({ runId: StoreIdSchema, epoch: z.number().int().min(0) });
export type RunFence = z.infer<typeof RunFenceSchema>;

const LeaseSchema = z.strictObject({
  /** Who claims, for people to read. */
  owner: z.string(),
  /** For how long the run is held without `renew`. */
  leaseMs: z.number().int().min(1),
});

export const RunDraftSchema = z.strictObject({
  principal: z.string().min(1),
  /** The thread to go on with, or the one to make. */
  thread: z.union([z.strictObject({ threadId: StoreIdSchema }), z.strictObject({ create: NewThreadSchema })]),
  input: z.array(OutputItemSchema).min(1),
  options: OptionsSchema.optional(),
  /** The same key of the same principal gives the same run. */
  idempotencyKey: z.string().min(1).max(256).optional(),
  /** The caller executes the run itself: it is made `running`, with epoch 1. */
  claim: LeaseSchema.optional(),
  /** Default: new ones. */
  runId: StoreIdSchema.optional(),
  turnId: StoreIdSchema.optional(),
});
export type RunDraft = z.input<typeof RunDraftSchema>;

export interface CreatedRun {
  readonly run: Run;
  readonly turn: Turn;
  /** False where the idempotency key had made it before. */
  readonly isNew: boolean;
}

export const ClaimOptionsSchema = z.strictObject({
  ...LeaseSchema.shape,
  /** Only runs of threads with one of these. Default: any. */
  workspaces: z.array(z.string()).optional(),
  /** Only this run. */
  runId: StoreIdSchema.optional(),
  /**
   * With `runId`: the run may be suspended. Its approvals stay pending: the claimer has decisions for some of them, and
   * names the others when it suspends the run again.
   */
  evenSuspended: z.boolean().optional(),
});
export type ClaimOptions = z.input<typeof ClaimOptionsSchema>;

export interface ClaimedRun {
  readonly run: Run;
  readonly turn: Turn;
  /** Those of the run that are decided, in order of their creation. */
  readonly approvals: readonly Approval[];
}

export interface Renewal {
  /** False: another worker has the run, or it was ended or deleted. Stop at once. */
  readonly isHeld: boolean;
  readonly isCancelRequested: boolean;
}

export const ApprovalDraftSchema = z.strictObject({
  request: ApprovalRequestSchema,
  /** Decided by now, as by a rule. Default: pending. */
  decided: z.strictObject({ decision: DecisionSchema, by: z.string() }).optional(),
});
export type ApprovalDraft = z.input<typeof ApprovalDraftSchema>;

export const RunEndSchema = z.strictObject({
  state: z.enum(FINAL_RUN_STATES),
  error: RunSchema.shape.error,
});
export type RunEnd = z.input<typeof RunEndSchema>;

export const RunQuerySchema = PageQuerySchema.extend({
  state: RunStateSchema.optional(),
  principal: z.string().optional(),
  threadId: z.string().optional(),
});
export type RunQuery = z.input<typeof RunQuerySchema>;

export interface RunPage {
  readonly runs: readonly Run[];
  /** There are more: `after` of the next page. */
  readonly next?: string;
}

/**
 * Runs, and who executes them. The row of a run is the entry of the queue: there is no other one.
 *
 * - Each thread has at most one `running` run. Its other runs wait, also where the lease has ended: that run is claimed first.
 * - Each claim raises the run's epoch by one. Writes of an older epoch are refused with a `StaleEpochError`.
 * - A run is held while its lease lasts. A lease that ends more than twice its length ahead was written by a clock that
 *   has been set back since, and does not count.
 * - Each function is one transaction. When it has resolved, its effect survives the death of the process, and that of
 *   the machine where the store is on a disk.
 *
 * A malformed argument throws or rejects with a `ToolscriptUsageError`, a database that fails with a
 * `StoreUnavailableError`.
 */
export interface RunStore {
  /**
   * Makes turn, input and run, and the thread where `create` is given. Rejects with a `NotFoundError` where the
   * thread is not there or is another principal's, with an `IdempotencyConflictError` where the key came with another
   * thread, input or options, and with a `ThreadBusyError` where `claim` is given and another run of the thread is
   * queued or running.
   */
  create(draft: RunDraft): Promise<CreatedRun>;
  get(runId: string): Promise<Run | undefined>;
  /**
   * Claims the oldest run that is queued, or whose lease has ended. Undefined where there is none. A run whose
   * cancellation is asked for is claimed as the others are: its worker writes its last events and finishes it.
   */
  claim(options: ClaimOptions): Promise<ClaimedRun | undefined>;
  /** The lease begins anew. Does not reject where it is lost. */
  renew(fence: RunFence, leaseMs: number): Promise<Renewal>;
  /** Back to the queue, as when the process ends in order. Nothing happens where the epoch is stale. */
  release(fence: RunFence): Promise<void>;
  /**
   * The run waits for these approvals, which are made in the same transaction. One that is there already keeps its
   * decision; a pending one that is not named any more is cancelled. Where all are decided, the run is queued at
   * once. Rejects with a `StaleEpochError`. A repeated call after one that was done gives the run as it is.
   */
  suspend(fence: RunFence, approvals: readonly ApprovalDraft[]): Promise<Run>;
  /**
   * The run has ended; its pending approvals are cancelled. Rejects with a `StaleEpochError`. A repeated call with
   * the same state gives the run as it is.
   */
  finish(fence: RunFence, end: RunEnd): Promise<Run>;
  /**
   * Asks for the run's cancellation. A suspended run is queued for it, and its pending approvals are cancelled. Its
   * holder learns of it by `renew`. Nothing changes where it has ended, or is asked for already. Undefined where
   * there is no such run.
   */
  requestCancel(runId: string): Promise<Run | undefined>;
  /** Oldest first. A run that is created meanwhile comes on a later page. */
  list(query?: RunQuery): Promise<RunPage>;
  /**
   * Yields when a run may have become claimable, or its cancellation may have been asked for, in this process or
   * another one. May yield without cause, and once for several changes. Ends when the signal aborts.
   */
  watch(options: { readonly signal: AbortSignal }): AsyncIterable<void>;
}

export function isFinalRunState(state: RunState): boolean {
  return (FINAL_RUN_STATES as readonly RunState[]).includes(state);
}

/** True while a holder that has not renewed keeps its run. See `RunStore`. */
export function isLeaseHeld(nowMs: number, expiresAtMs: number, leaseMs: number): boolean {
  const leftMs = expiresAtMs - nowMs;
  return leftMs > 0 && leftMs <= 2 * leaseMs;
}

/** The text of the user's messages, as it is searched. */
export function inputText(input: readonly OutputItem[]): string {
  return input.map((item) => (item.type === 'message' ? item.content : '')).join('\n');
}

/** The request that an idempotency key stands for: equal requests have equal texts, whatever the order of their members. */
export function requestText({ thread, input, options = {} }: RunDraft): string {
  const { threadId: _generated, ...create } = 'create' in thread ? thread.create : { threadId: undefined };
  const request = { thread: 'create' in thread ? create : thread, input, options };
  return JSON.stringify(request, (_key, value: unknown) => (isRecord(value) ? sorted(value) : value));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
