import { z } from 'zod';
import type { StreamEvent } from './events.js';
import { PageQuerySchema, StoreIdSchema } from './store-shapes.js';

/** A page of the runs in the log. */
export type LoggedRunQuery = z.input<typeof PageQuerySchema>;

/**
 * The default and maximum number of events on a page. A page ends earlier if the JSON texts of its events would
 * together be longer than `MAX_EVENT_PAGE_LENGTH` UTF-16 units, but never before its first event.
 */
export const DEFAULT_EVENT_PAGE = 1_000;
/** The maximum length of a page's events together, as JSON texts, in UTF-16 units. */
export const MAX_EVENT_PAGE_LENGTH = 1_048_576;

/** The events of a run to read. */
export const EventRangeSchema = z.strictObject({
  /** The first `seq`. Default 0. */
  from: z.number().int().min(0).optional(),
  /** Default and maximum: 1 000. */
  limit: z.number().int().min(1).max(DEFAULT_EVENT_PAGE).optional(),
});
/** The events of a run to read. */
export type EventRange = z.input<typeof EventRangeSchema>;

/** A page of events of one run. */
export interface EventPage {
  readonly events: readonly StreamEvent[];
  /** The `from` of the next page; present if there are more entries. */
  readonly next?: number | undefined;
}

/** The end of a run's events in the log. */
export interface LogPosition {
  /** The `seq` of the run's next event. */
  readonly nextSeq: number;
  /** True if the run's last event is stored: no event can follow. */
  readonly isEnded: boolean;
}

/** Options of a subscription to the events of a run. `from`: the first `seq`, default 0. */
export interface SubscribeOptions {
  readonly from?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly earlier?: ((from: number) => Promise<EventPage>) | undefined;
}

/** A run in the log, and its position. */
export interface LoggedRun extends LogPosition {
  readonly runId: string;
}

/** A page of runs in the log. */
export interface LoggedRunPage {
  readonly runs: readonly LoggedRun[];
  /** The `after` of the next page; present if there are more entries. */
  readonly next?: string | undefined;
}

/** The number of times that events are delivered from the same `seq` before their run becomes a dead letter. */
export const MAX_DELIVERIES = 5;

/** Options of the delivery of events to a group of consumers. */
export const DeliveryOptionsSchema = z.strictObject({
  group: z.string().min(1).max(128),
  /** The consumer's name, for users to read. */
  consumer: z.string(),
  /** After this time in ms without an acknowledgement, the same events are delivered again, to any consumer. */
  leaseMs: z.number().int().min(1),
  /** Maximum number of events. Default 1 000. */
  limit: EventRangeSchema.shape.limit,
});
/** Options of the delivery of events to a group of consumers. */
export type DeliveryOptions = z.input<typeof DeliveryOptionsSchema>;

/** Events of one run for a consumer to handle, in order and without gaps. */
export const DeliverySchema = z.strictObject({
  group: z.string(),
  runId: StoreIdSchema,
  /** The id of this delivery. Once the run is delivered again, an acknowledgement of this delivery has no effect. */
  token: z.number().int(),
  /** The number of deliveries that began with the same event, including this delivery. */
  attempt: z.number().int().min(1),
});
export interface Delivery extends z.infer<typeof DeliverySchema> {
  readonly events: readonly StreamEvent[];
}

/** The group of consumers whose dead letters are listed. */
export const DeadLetterQuerySchema = PageQuerySchema.extend({ group: z.string() });
/** The group of consumers whose dead letters are listed. */
export type DeadLetterQuery = z.input<typeof DeadLetterQuerySchema>;

/** A run whose events, starting with `seq`, are no longer delivered to a group. */
export interface DeadLetter {
  readonly runId: string;
  readonly seq: number;
  /** The reason why the last delivery failed; empty if its consumer reported none. */
  readonly reason: string;
}

/** A page of dead letters. */
export interface DeadLetterPage {
  readonly letters: readonly DeadLetter[];
  /** The `after` of the next page; present if there are more entries. */
  readonly next?: string | undefined;
}

/** Number of runs that `GroupLag.oldestAt` considers: those that are delivered next. */
export const LAG_SAMPLE = 20;

/** The runs and events that a group has not handled. */
export interface GroupLag {
  /** The number of runs with events that the group has not acknowledged, without dead letters. */
  readonly runs: number;
  /**
   * The time of the oldest event that the group has not acknowledged, in ms since 1970; undefined if all are
   * acknowledged. See `LAG_SAMPLE`.
   */
  readonly oldestAt: number | undefined;
  readonly deadLetters: number;
}

/** Options of a function that reports changes. */
export interface WatchOptions {
  readonly signal: AbortSignal;
  /** The run whose changes are reported. Default: every run. */
  readonly runId?: string | undefined;
}

/** Options of `RunStore.watch`. */
export interface RunWatchOptions extends WatchOptions {
  /** The principal whose threads, runs and approvals are watched, instead of runs. */
  readonly principal?: string | undefined;
}

/**
 * Stores the events of runs and delivers them live. A worker publishes under the epoch of its claim; any process reads
 * and subscribes.
 *
 * A run begins with `seq` 0. Its last event is a `response_done` whose status is not `suspended`. A run that emits a
 * `response_error` ends with such a `response_done`, too. Malformed arguments throw or reject with a
 * `ToolscriptUsageError`.
 */
export interface EventLog {
  /**
   * Fences the run: from now on the log rejects events of older epochs, so they cannot change the position that this
   * call returns. Rejects with a `StaleEpochError` if the log knows a later epoch.
   */
  open(runId: string, epoch: number): Promise<LogPosition>;
  /**
   * Appends events of one run in order of `seq`, all or none. When the promise resolves, readers see the events. Events
   * that are already stored are skipped. Rejects with a `StaleEpochError` if the log knows a later epoch, and with an
   * `EventOrderError` for a gap, for a different event at the same `seq`, for an event after the run's last one, and for
   * a run that was not opened or that the log has lost: only the run store knows then who may open the run. As with `ThreadStore.append`, a power failure may lose the newest events.
   */
  publish(epoch: number, events: readonly StreamEvent[]): Promise<void>;
  /** Reads a page of events. Without `from`, the page begins with the first event that is not trimmed. */
  read(runId: string, range?: EventRange): Promise<EventPage>;
  /**
   * Yields the events starting with `from` (default 0): first the stored ones, then each new one, without duplicates or
   * gaps. `earlier` reads trimmed events from another store; without `earlier`, they are left out. The iteration ends
   * after the run's last event, when the signal aborts, when the run is deleted, or when the log is closed. The
   * iteration waits while the run has no events. A slow reader neither slows other readers down nor costs memory. If
   * `runId` or `from` is malformed, the first read rejects with a `ToolscriptUsageError`.
   */
  subscribe(runId: string, options?: SubscribeOptions): AsyncIterable<StreamEvent>;
  /**
   * Returns the next events for a group of consumers, or undefined if there are none. At most one consumer of the group
   * has a run at a time. A new group starts with the stored events. Events count as handled after their
   * acknowledgement. A delivery whose lease expires is repeated; after `MAX_DELIVERIES` deliveries with the same first
   * event, the run becomes a dead letter of the group.
   */
  receive(options: DeliveryOptions): Promise<Delivery | undefined>;
  /**
   * Marks the events of the delivery as handled: all of them, or those up to and including `seq`. The rest is delivered
   * again, as a first attempt. Returns false, without an effect, if the run was delivered again, if the delivery was
   * acknowledged or rejected before, or if the delivery does not contain `seq`.
   */
  acknowledge(delivery: Delivery, seq?: number): Promise<boolean>;
  /**
   * Reports that the events could not be handled. They are delivered again at once, unless this was the last of
   * `MAX_DELIVERIES` deliveries. Returns false in the same cases as `acknowledge`.
   */
  reject(delivery: Delivery, reason: string): Promise<boolean>;
  deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage>;
  /** Delivers the run's events to the group again. Returns false if the run is not a dead letter. */
  revive(group: string, runId: string): Promise<boolean>;
  /** Returns the backlog of the group. A group that never received events has handled none. */
  lag(group: string): Promise<GroupLag>;
  /**
   * Lists the runs in the log, in the order in which they were opened. A run that is opened while pages are read
   * appears on a later page.
   */
  list(query?: LoggedRunQuery): Promise<LoggedRunPage>;
  /**
   * Removes the run's events before `seq`, so that no read or delivery begins before event `seq`. Another store must
   * contain the removed events. The other events keep their `seq`. `epoch`: the epoch of the run whose state the caller
   * has read; the call does nothing if the log knows a later one. A repeated call does nothing.
   */
  trim(runId: string, seq: number, epoch: number): Promise<void>;
  /**
   * Removes the run from the log and from all groups. `epoch`: as for `trim`. Default: any epoch, for a run that was
   * deleted. A repeated call does nothing.
   */
  delete(runId: string, epoch?: number): Promise<void>;
  /** Writes one small value, over the earlier one. Rejects with a `StoreUnavailableError` if the log cannot be written. */
  probe(): Promise<void>;
  /**
   * Yields after events may have been published or acknowledged, in this process or another one. See `RunStore.watch`
   * for the rules.
   */
  watch(options: WatchOptions): AsyncIterable<void>;
  /**
   * Describes the settings and states of the log's server that endanger events, each in one sentence that names the
   * fix. Rejects with a `StoreUnavailableError` if the log does not answer.
   */
  warnings(): Promise<readonly string[]>;
  /** Ends all subscriptions. A repeated call does nothing. An open log without subscriptions lets the process exit. */
  close(): Promise<void>;
}
