import { z } from 'zod';
import type { EventPayload, StreamEvent } from './events.js';
import { PageQuerySchema, StoreIdSchema } from './store-shapes.js';

/** Events of a page, at most; a page ends earlier where its JSON text is longer than that many UTF-16 units, and has at least one event. */
export const DEFAULT_EVENT_PAGE = 1_000;
export const MAX_EVENT_PAGE_LENGTH = 1_048_576;

export const EventRangeSchema = z.strictObject({
  /** The first `seq`. Default 0. */
  from: z.number().int().min(0).optional(),
  /** Default and most: 1 000. */
  limit: z.number().int().min(1).max(DEFAULT_EVENT_PAGE).optional(),
});
export type EventRange = z.input<typeof EventRangeSchema>;

export interface EventPage {
  readonly events: readonly StreamEvent[];
  /** There are more: `from` of the next page. */
  readonly next?: number;
}

export interface LogPosition {
  /** The `seq` that the run's next event has. */
  readonly nextSeq: number;
  /** The run's last event is there: nothing can follow. */
  readonly isEnded: boolean;
}

/** The deliveries of one position before a run becomes a dead letter. */
export const MAX_DELIVERIES = 5;

export const DeliveryOptionsSchema = z.strictObject({
  group: z.string().min(1).max(128),
  /** Who takes it, for people to read. */
  consumer: z.string(),
  /** After that time without an acknowledgement, another consumer gets the same events. */
  leaseMs: z.number().int().min(1),
  /** Events, at most. Default 1 000; see `EventPage`. */
  limit: EventRangeSchema.shape.limit,
});
export type DeliveryOptions = z.input<typeof DeliveryOptionsSchema>;

/** Events of one run that a consumer is to handle, in order, without a gap. */
export const DeliverySchema = z.strictObject({
  group: z.string(),
  runId: StoreIdSchema,
  /** Names this delivery: an acknowledgement of an earlier one counts for nothing. */
  token: z.number().int(),
  /** How often these events were delivered, this time included. */
  attempt: z.number().int().min(1),
});
export interface Delivery extends z.infer<typeof DeliverySchema> {
  readonly events: readonly StreamEvent[];
}

export const DeadLetterQuerySchema = PageQuerySchema.extend({ group: z.string() });
export type DeadLetterQuery = z.input<typeof DeadLetterQuerySchema>;

/** A run whose events a group has given up, from `seq` on. */
export interface DeadLetter {
  readonly runId: string;
  readonly seq: number;
  /** Why the last delivery failed; empty where its consumer never said. */
  readonly reason: string;
}

export interface DeadLetterPage {
  readonly letters: readonly DeadLetter[];
  /** There are more: `after` of the next page. */
  readonly next?: string;
}

/**
 * The events of runs, live. A worker publishes under the epoch of its claim; any process reads and subscribes.
 *
 * A run begins with `seq` 0. Its last event is a `response_done` whose status is not `suspended`; a `response_error`
 * is followed by one. Malformed arguments throw or reject with a `ToolscriptUsageError`.
 */
export interface EventLog {
  /**
   * Gives the run to this epoch: from now on, the log refuses events of older epochs. So no older epoch changes the
   * position that it gives. Rejects with a `StaleEpochError` where a later epoch was there before.
   */
  open(runId: string, epoch: number): Promise<LogPosition>;
  /**
   * Appends events of one run in order of `seq`, all or none; when it resolves, readers see them. Those that are there
   * already are skipped. Rejects with a `StaleEpochError` where a later epoch was there before, and with an
   * `EventOrderError` for a gap, for another event at the same `seq`, and for an event after the run's last one. As with
   * `ThreadStore.append`, a power cut may lose the newest.
   */
  publish(epoch: number, events: readonly StreamEvent[]): Promise<void>;
  read(runId: string, range?: EventRange): Promise<EventPage>;
  /**
   * The events from `from` on (default 0): those that are there, then each one that is published, none twice and none
   * left out. Ends after the run's last event, when the signal aborts, and when the run is deleted. A run that nobody
   * has published of yet is waited for. A slow reader slows nobody else down and costs no memory. Rejects
   * with a `ToolscriptUsageError`, at the first event, where `runId` or `from` is malformed.
   */
  subscribe(
    runId: string,
    options?: { readonly from?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<StreamEvent>;
  /**
   * The next events for a group of consumers, of which each run has one at a time. A group begins with what is in the
   * log; events count as handled when they are acknowledged. Undefined where there are none. A delivery whose lease
   * ends is made again; after `MAX_DELIVERIES` of the same first event the run is a dead letter of the group.
   */
  receive(options: DeliveryOptions): Promise<Delivery | undefined>;
  /**
   * All events of the delivery are handled, or those up to `seq` and that one. The rest is delivered anew, as a first
   * attempt. False where the delivery is no longer the run's latest: another consumer has it.
   */
  acknowledge(delivery: Delivery, seq?: number): Promise<boolean>;
  /** The events could not be handled: they are delivered again at once. False as in `acknowledge`. */
  reject(delivery: Delivery, reason: string): Promise<boolean>;
  deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage>;
  /** Delivers the run's events to the group again. False where it is no dead letter. */
  revive(group: string, runId: string): Promise<boolean>;
  /** Removes the run from the log and from all groups. Idempotent. */
  delete(runId: string): Promise<void>;
  /** Yields when something may have been published, in this process or another one; as `RunStore.watch` does. */
  watch(options: { readonly signal: AbortSignal }): AsyncIterable<void>;
  /** Idempotent. Subscriptions end. */
  close(): Promise<void>;
}

/** True for a run's last event. */
export function endsRun(payload: EventPayload): boolean {
  return payload.type === 'response_done' && payload.status !== 'suspended';
}
