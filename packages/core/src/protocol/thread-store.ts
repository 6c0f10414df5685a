import { z } from 'zod';
import type { Approval, ApprovalPage, ApprovalQuery, DecidedApproval, StoredDecision } from './approval-records.js';
import type { DocumentStore } from './document-store.js';
import type { HeapStore } from './heap-store.js';
import type { EventPage, EventRange } from './event-log.js';
import type { StreamEvent } from './events.js';
import type { OutputItem } from './items.js';
import { BranchPointSchema, NewThreadSchema } from './new-thread.js';
import { ACTIVE_RUN_STATES, RunStateSchema, type RunState, type RunStore } from './run-store.js';
import { PageQuerySchema, StoreIdSchema, TimeSchema, type OwnerFilter, type RunFence } from './store-shapes.js';

/** A conversation. Its turns, runs, events and approvals are stored separately. */
export const ThreadSchema = z.strictObject({
  threadId: StoreIdSchema,
  /** The owner of the thread. */
  principal: z.string(),
  title: z.string(),
  /** The folder or the application that the thread belongs to; empty if there is none. */
  workspace: z.string(),
  /** The agent of the thread. If the thread has instructions, it is the agent of these instructions. */
  agentId: z.string().optional(),
  /** The turn of another thread before which this thread branched off. The other thread may have been deleted. */
  branchOf: BranchPointSchema.optional(),
  /**
   * The state of the thread's runs that have not ended: `suspended` if one of them waits for a decision, otherwise
   * `running` if one of them runs, otherwise `queued`. Absent if all runs have ended.
   */
  activeState: z.enum(ACTIVE_RUN_STATES).optional(),
  /** The state of the thread's newest run. Absent if the thread has no runs. */
  lastState: RunStateSchema.optional(),
  createdAt: TimeSchema,
  /** The time of the last change to any part of the thread. */
  updatedAt: TimeSchema,
});
export type Thread = z.infer<typeof ThreadSchema>;

/** A thread to create, and its owner. */
export const ThreadDraftSchema = NewThreadSchema.extend({
  principal: z.string().min(1),
});
/** A thread to create, and its owner. */
export type ThreadDraft = z.input<typeof ThreadDraftSchema>;

/** The maximum length of the stored tools of a thread. */
export const MAX_STORED_TOOLS = 262_144;

/**
 * The thread's agent, and what every request of the thread begins with. The system text and the tools stay the same
 * during the whole thread, so that providers keep their caches; each change is announced once.
 */
export const ThreadInstructionsSchema = z.strictObject({
  agentId: z.string(),
  model: z.string().optional(),
  /** How the model of the first request could act: the `carrier` of its agent, or `disabled`. */
  carrier: z.string().optional(),
  system: z.string().optional(),
  /** The tools that the model was first offered, as JSON. Absent if they are too large to store. */
  tools: z.string().max(MAX_STORED_TOOLS).optional(),
  /** The nonce of the scripts in the thread's text, which `system` names. It never changes. */
  nonce: z.string().optional(),
  /**
   * The state that was announced to the model: hashes of the rules, and of each tool by its name. `changes`: the number
   * of announcements since the last one of everything.
   */
  announced: z
    .strictObject({ rules: z.string(), tools: z.record(z.string(), z.string()), changes: z.number() })
    .optional(),
});
/** See `ThreadInstructionsSchema`. */
export type ThreadInstructions = z.infer<typeof ThreadInstructionsSchema>;

/** The conditions of a list. A thread must meet all of them. */
export const ThreadQuerySchema = PageQuerySchema.extend({
  principal: z.string().optional(),
  workspace: z.string().optional(),
  /**
   * A text that must occur in the title, in the user's messages, in answers, or in the names of files that calls have
   * named, ignoring case. Only the first 20 000 characters of the title and of each turn's messages are searched, and
   * 40 000 of each turn.
   */
  text: z.string().optional(),
  /** The state of the active run, as in `activeState`, or else that of the newest run. */
  state: RunStateSchema.optional(),
});
/** The conditions of a list. A thread must meet all of them. */
export type ThreadQuery = z.input<typeof ThreadQuerySchema>;

/** A page of threads. */
export interface ThreadPage {
  readonly threads: readonly Thread[];
  /** The `after` of the next page; present if there are more entries. */
  readonly next?: string | undefined;
}

/** A turn as users see it: its input, and the items that its run's events fold into. */
export interface TurnItems {
  readonly turnId: string;
  readonly runId: string;
  readonly state: RunState;
  readonly createdAt: number;
  /** The time at which the run's cancellation was requested, in ms since 1970. */
  readonly cancelRequestedAt?: number | undefined;
  readonly items: readonly OutputItem[];
}

/** A page of turns. */
export interface ItemPage {
  readonly turns: readonly TurnItems[];
  /** The `after` of the next page; present if there are more entries. */
  readonly next?: string | undefined;
}

/** A page of a thread's turns. */
export const ItemQuerySchema = PageQuerySchema;
/** A page of a thread's turns. */
export type ItemQuery = z.input<typeof ItemQuerySchema>;

/**
 * Stores conversations. The rules of `RunStore` about transactions and arguments apply here too. Functions that only
 * read return undefined, or an empty page, for unknown ids.
 */
export interface ThreadStore {
  /**
   * Creates a thread. Rejects with a `ToolscriptUsageError` if its id is taken. With `branchOf`, the thread begins with
   * copies of the turns before the turn of `branchOf`, or up to it. The runs of these copies have new ids, and keep their events and
   * times, but not their approvals. A copy costs the same for a long turn as for a short one, takes no events, and
   * stays when the original is deleted. The bytes of a copy count like those of its original. The thread also begins with copies of the versions of documents that were saved
   * before the first turn that it does not copy was created. Rejects with a `NotFoundError` if the thread of `branchOf` has another
   * owner or does not contain the turn, and with a `ThreadBusyError` if one of the copied turns has not ended.
   */
  create(draft: ThreadDraft): Promise<Thread>;
  /** With `principal`, returns undefined for a thread of another principal. */
  get(threadId: string, owner?: OwnerFilter): Promise<Thread | undefined>;
  /**
   * Lists threads, the most recently changed one first, by the order of the changes and not by the clock. A thread that
   * changes while pages are read moves to an earlier page; no page repeats a thread.
   */
  list(query?: ThreadQuery): Promise<ThreadPage>;
  /** Changes the title. Returns undefined if there is no such thread. */
  rename(threadId: string, title: string): Promise<Thread | undefined>;
  /**
   * Deletes the thread with its turns, runs, events, approvals, documents and heaps. Returns the ids of its runs; the caller
   * deletes their event logs.
   */
  delete(threadId: string): Promise<readonly string[]>;
  instructions(threadId: string): Promise<ThreadInstructions | undefined>;
  /**
   * Replaces the thread's instructions. With a fence, rejects with a `StaleEpochError` unless the fence's epoch is the
   * current epoch of its run. Rejects with a `NotFoundError` if there is no such thread.
   */
  saveInstructions(threadId: string, instructions: ThreadInstructions, fence?: RunFence): Promise<void>;
  /**
   * Appends events of one run in order of `seq`, all or none. Events that are already stored are skipped. Returns the
   * next `seq`. With `epoch`, rejects with a `StaleEpochError` unless the writer is the run's holder. Without `epoch`,
   * the events must come from a log that has checked their epoch. Rejects with an `EventOrderError` for a gap, for a
   * different event at the same `seq`, and for a run that is a copy in a branch, and with a `NotFoundError` if there is no such run. A power failure may lose
   * events that were appended since the last change of the run's state; the death of the process loses none.
   */
  append(events: readonly StreamEvent[], options?: { readonly epoch?: number | undefined }): Promise<number>;
  /** The `seq` of the run's next event. 0 if there is no such run. */
  nextSeq(runId: string): Promise<number>;
  /** Reads a run's events in order of `seq`. Returns an empty page if there is no such run. */
  readEvents(runId: string, range?: EventRange): Promise<EventPage>;
  /** Reads a page of the thread's turns, in order. */
  readItems(threadId: string, query?: ItemQuery): Promise<ItemPage>;
  /** With `principal`, returns undefined for an approval of another principal. */
  approval(approvalId: string, owner?: OwnerFilter): Promise<Approval | undefined>;
  /** Lists the approvals of all threads, the oldest one first. */
  listApprovals(query?: ApprovalQuery): Promise<ApprovalPage>;
  /**
   * Decides a pending approval. Exactly one of several callers wins; the others get the winner's decision. After the
   * last decision the run is queued in the same transaction. An approval past its expiry becomes `expired`, and the
   * decision has no effect. Returns undefined if there is no such approval.
   */
  decide(approvalId: string, decision: StoredDecision, by: string): Promise<DecidedApproval | undefined>;
  /**
   * Expires the approvals that are past their expiry, as `decide` does, and returns them. A call may stop after 1 000
   * approvals; call again for the rest.
   */
  expireApprovals(): Promise<readonly Approval[]>;
}

/** The stores of one database. */
export interface ServiceStores {
  readonly threads: ThreadStore;
  readonly runs: RunStore;
  readonly documents: DocumentStore;
  readonly heaps: HeapStore;
  /** Closes the stores after the earlier calls have ended. A repeated call does nothing. */
  close(): Promise<void>;
}
