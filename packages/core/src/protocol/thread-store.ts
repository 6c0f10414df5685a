import { z } from 'zod';
import type { Approval, ApprovalPage, ApprovalQuery, DecidedApproval, StoredDecision } from './approval-records.js';
import type { EventPage, EventRange } from './event-log.js';
import type { StreamEvent } from './events.js';
import type { OutputItem } from './items.js';
import { NewThreadSchema } from './new-thread.js';
import type { RunFence, RunState, RunStore } from './run-store.js';
import { PageQuerySchema, StoreIdSchema, TimeSchema } from './store-shapes.js';

/** A conversation. Its turns, runs, events and approvals are kept beside it. */
export const ThreadSchema = z.strictObject({
  threadId: StoreIdSchema,
  /** Its owner. */
  principal: z.string(),
  title: z.string(),
  /** The folder or the application that it belongs to; empty where there is none. */
  workspace: z.string(),
  /** The agent that it talks to: that of its instructions, once those are saved. */
  agentId: z.string().optional(),
  createdAt: TimeSchema,
  /** When anything of it changed last. */
  updatedAt: TimeSchema,
});
export type Thread = z.infer<typeof ThreadSchema>;

export const ThreadDraftSchema = NewThreadSchema.extend({ principal: z.string().min(1) });
export type ThreadDraft = z.input<typeof ThreadDraftSchema>;

/**
 * Whom the thread talks to and what they were told at the beginning. The system text stays as it was when the thread
 * began, so that providers keep their caches; what changed since is announced once.
 */
export const ThreadInstructionsSchema = z.strictObject({
  agentId: z.string(),
  model: z.string().optional(),
  system: z.string().optional(),
  /** The newest announcement in place of `system`. */
  announced: z.string().optional(),
});
export type ThreadInstructions = z.infer<typeof ThreadInstructionsSchema>;

/** All conditions hold together. */
export const ThreadQuerySchema = PageQuerySchema.extend({
  principal: z.string().optional(),
  workspace: z.string().optional(),
  /** Stands in the title or in what the user wrote, without regard to case. The first 20 000 characters of each count. */
  text: z.string().optional(),
});
export type ThreadQuery = z.input<typeof ThreadQuerySchema>;

export interface ThreadPage {
  readonly threads: readonly Thread[];
  /** There are more: `after` of the next page. */
  readonly next?: string;
}

/** A turn as it is shown: its input, and what its run's events fold into. */
export interface TurnItems {
  readonly turnId: string;
  readonly runId: string;
  readonly state: RunState;
  readonly createdAt: number;
  readonly items: readonly OutputItem[];
}

export interface ItemPage {
  readonly turns: readonly TurnItems[];
  /** There are more: `after` of the next page. */
  readonly next?: string;
}

export const ItemQuerySchema = PageQuerySchema;
export type ItemQuery = z.input<typeof ItemQuerySchema>;

/**
 * Conversations and what happened in them. The rules of `RunStore` about transactions and arguments hold here too.
 * A function that only reads gives undefined, or an empty page, for what is not there.
 */
export interface ThreadStore {
  /** Rejects with a `ToolscriptUsageError` where its id is taken. */
  create(draft: ThreadDraft): Promise<Thread>;
  get(threadId: string): Promise<Thread | undefined>;
  /**
   * The one that changed last comes first, by the order of the changes and not by the clock. A thread that changes
   * while pages are read is on an earlier page from then on; no page repeats a thread.
   */
  list(query?: ThreadQuery): Promise<ThreadPage>;
  /** Undefined where there is no such thread. */
  rename(threadId: string, title: string): Promise<Thread | undefined>;
  /** With its turns, runs, events and approvals. Gives the ids of its runs, whose event logs are the caller's to delete. */
  delete(threadId: string): Promise<readonly string[]>;
  instructions(threadId: string): Promise<ThreadInstructions | undefined>;
  /**
   * Replaces them. With a fence, only its holder can: a `StaleEpochError` otherwise. Rejects with a `NotFoundError`
   * where there is no such thread.
   */
  saveInstructions(threadId: string, instructions: ThreadInstructions, fence?: RunFence): Promise<void>;
  /**
   * Appends events of one run, in order of `seq`, all or none. Those that are there already are skipped. Gives the
   * `seq` that comes next. With `epoch`, the writer must be the run's holder: a `StaleEpochError` otherwise. Without,
   * the events come from a log that has checked their epoch. Rejects with an `EventOrderError` for a gap, and for
   * another event at the same `seq`, and with a `NotFoundError` where there is no such run. A power cut may lose events
   * that were appended since the last change of the run's state; the death of the process loses none.
   */
  append(events: readonly StreamEvent[], options?: { readonly epoch?: number }): Promise<number>;
  /** In order of `seq`. Empty where there is no such run. */
  readEvents(runId: string, range?: EventRange): Promise<EventPage>;
  /** The turns in order, `limit` of them. */
  readItems(threadId: string, query?: ItemQuery): Promise<ItemPage>;
  approval(approvalId: string): Promise<Approval | undefined>;
  /** Across threads, oldest first. */
  listApprovals(query?: ApprovalQuery): Promise<ApprovalPage>;
  /**
   * Decides a pending approval; exactly one of several callers wins, and the others get the winner's decision. After
   * the last decision the run is queued in the same transaction. One whose time is over becomes `expired`, and the
   * caller has lost. Undefined where there is no such approval.
   */
  decide(approvalId: string, decision: StoredDecision, by: string): Promise<DecidedApproval | undefined>;
  /** Decides those whose time is over, as `decide` does, and gives them. May stop after 1 000: call it again then. */
  expireApprovals(): Promise<readonly Approval[]>;
}

/** The stores of one database. */
export interface ServiceStores {
  readonly threads: ThreadStore;
  readonly runs: RunStore;
  /** Idempotent. Calls that were made before are done first. */
  close(): Promise<void>;
}
