import {
  PageQuerySchema,
  RunFenceSchema,
  type Delivery,
  type EventLog,
  type StreamEvent,
} from '@toolscript/core/protocol';
import { LAG_SAMPLE } from '@toolscript/core/internal';
import {
  DeadLetterQuerySchema,
  DEFAULT_EVENT_PAGE,
  DeliveryOptionsSchema,
  MAX_DELIVERIES,
  EventRangeSchema,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeliveryOptions,
  type EventPage,
  type EventRange,
  type GroupLag,
  type LoggedRunPage,
  type LoggedRunQuery,
  type LogPosition,
  type SubscribeOptions,
  type WatchOptions,
} from '@toolscript/core/ports';
import { memoryPage, type MemoryStoresOptions } from './memory-database.js';
import { ChangeBoard, watchBoard } from '../change-board.js';
import { checkBatch, oldestTime, eventPage, placeEvents, refuseAfterEnd } from '../event-batches.js';
import { subscribeByReading } from '../event-subscription.js';
import { parseShape } from '../shapes.js';
import { storeErrors } from '../store-errors.js';
import { ANY_EPOCH, EpochSchema, isLeaseHeld } from '../store-rules.js';

interface LoggedRun {
  epoch: number;
  isEnded: boolean;
  readonly position: number;
  /** The JSON texts of the events; the index is the `seq`. Undefined for a trimmed event. */
  readonly texts: (string | undefined)[];
  firstSeq: number;
}

/** A group's progress with a run. */
interface GroupPosition {
  nextSeq: number;
  /** The token of the last delivery. The run served longest ago is served next. */
  served: number;
  attempts: number;
  reason: string;
  leaseExpiresAt: number;
  leaseMs: number;
  isDead: boolean;
}

interface UnhandledRun {
  readonly runId: string;
  readonly run: LoggedRun;
  readonly place: GroupPosition;
}

/** Stores events in memory: for tests, and for one process that needs no history. */
export function memoryEventLog(options: MemoryStoresOptions = {}): EventLog {
  return new MemoryEventLog(options.now ?? Date.now);
}

class MemoryEventLog implements EventLog {
  readonly #runs = new Map<string, LoggedRun>();
  /** The positions of groups, by group and then by run. */
  readonly #groups = new Map<string, Map<string, GroupPosition>>();
  readonly #board = new ChangeBoard();
  readonly #now: () => number;
  #madeCount = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  async open(runId: string, epoch: number): Promise<LogPosition> {
    parseShape(RunFenceSchema, { runId, epoch }, 'fence');
    const run = this.#unfencedRun(runId, epoch);
    this.#fence(runId, run, epoch);
    return { nextSeq: run.texts.length, isEnded: run.isEnded };
  }

  async publish(epoch: number, events: readonly StreamEvent[]): Promise<void> {
    const batch = checkBatch(events);
    const { runId } = parseShape(RunFenceSchema, { runId: batch.runId, epoch }, 'fence');
    if (!this.#runs.has(runId)) throw storeErrors.runNotOpened(runId);
    const run = this.#unfencedRun(runId, epoch);
    const added = placeEvents(batch, run.texts.length, (seq) => run.texts[seq]);
    if (added.length > 0) refuseAfterEnd(batch, run.isEnded);
    this.#fence(runId, run, epoch);
    run.texts.push(...added);
    run.isEnded ||= batch.endIndex !== -1;
    this.#board.announce(runId);
  }

  async read(runId: string, range: EventRange = {}): Promise<EventPage> {
    return this.#page(runId, parseShape(EventRangeSchema, range, 'range'));
  }

  subscribe(runId: string, options: SubscribeOptions = {}): AsyncIterable<StreamEvent> {
    const read = async (id: string, from: number) => {
      const run = this.#runs.get(id);
      const position = run && { nextSeq: run.texts.length, isEnded: run.isEnded };
      return { ...(await this.read(id, { from })), position };
    };
    return subscribeByReading({ board: this.#board, read }, runId, options);
  }

  async receive(options: DeliveryOptions): Promise<Delivery | undefined> {
    const { group, leaseMs, limit } = parseShape(DeliveryOptionsSchema, options, 'delivery');
    const [next] = this.#waiting(group).toSorted((left, right) => left.place.served - right.place.served);
    if (next === undefined) return undefined;
    const { runId, place } = next;
    place.attempts += 1;
    Object.assign(place, { leaseMs, leaseExpiresAt: this.#now() + leaseMs, served: this.#count() });
    const { events } = this.#page(runId, { from: place.nextSeq, limit });
    return { group, runId, token: place.served, attempt: place.attempts, events };
  }

  async acknowledge(delivery: Delivery, seq = delivery.events.at(-1)!.seq): Promise<boolean> {
    const place = this.#latest(delivery);
    const isInside = delivery.events.some((event) => event.seq === seq);
    if (place === undefined || !isInside) return false;
    Object.assign(place, { nextSeq: seq + 1, attempts: 0, reason: '', leaseExpiresAt: 0 });
    this.#board.announce();
    return true;
  }

  async reject(delivery: Delivery, reason: string): Promise<boolean> {
    const place = this.#latest(delivery);
    if (place === undefined) return false;
    const isDead = place.attempts >= MAX_DELIVERIES;
    Object.assign(place, { reason, leaseExpiresAt: 0, isDead });
    this.#board.announce();
    return true;
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage> {
    const { group, ...page } = parseShape(DeadLetterQuerySchema, query, 'query');
    const dead = [...(this.#groups.get(group) ?? [])].filter(([, { isDead }]) => isDead);
    const { rows, ...rest } = memoryPage(dead, ([runId]) => this.#runs.get(runId)!.position, { kind: 'dead', ...page });
    return { letters: rows.map(([runId, { nextSeq, reason }]) => ({ runId, seq: nextSeq, reason })), ...rest };
  }

  async revive(group: string, runId: string): Promise<boolean> {
    const place = this.#groups.get(group)?.get(runId);
    if (place?.isDead !== true) return false;
    Object.assign(place, { isDead: false, attempts: 0, reason: '', leaseExpiresAt: 0 });
    this.#board.announce();
    return true;
  }

  async lag(group: string): Promise<GroupLag> {
    const unhandled = this.#unhandledRuns(group).toSorted((left, right) => left.place.served - right.place.served);
    const texts = unhandled
      .slice(0, LAG_SAMPLE)
      .map(({ run, place }) => run.texts[Math.max(place.nextSeq, run.firstSeq)]!);
    const deadLetters = [...(this.#groups.get(group)?.values() ?? [])].filter(({ isDead }) => isDead).length;
    return { runs: unhandled.length, oldestAt: oldestTime(texts), deadLetters };
  }

  async list(query: LoggedRunQuery = {}): Promise<LoggedRunPage> {
    const page = parseShape(PageQuerySchema, query, 'query');
    const { rows, ...rest } = memoryPage([...this.#runs], ([, { position }]) => position, { kind: 'logged', ...page });
    return { runs: rows.map(([runId, { texts, isEnded }]) => ({ runId, nextSeq: texts.length, isEnded })), ...rest };
  }

  async trim(runId: string, seq: number, epoch: number): Promise<void> {
    parseShape(EventRangeSchema, { from: seq }, 'seq');
    parseShape(EpochSchema, epoch, 'epoch');
    const run = this.#runs.get(runId);
    if (run === undefined || run.epoch > epoch) return;
    run.firstSeq = Math.max(run.firstSeq, Math.min(seq, run.texts.length));
    run.texts.fill(undefined, 0, run.firstSeq);
  }

  async delete(runId: string, epoch = ANY_EPOCH): Promise<void> {
    parseShape(EpochSchema, epoch, 'epoch');
    if ((this.#runs.get(runId)?.epoch ?? 0) > epoch) return;
    this.#runs.delete(runId);
    for (const places of this.#groups.values()) places.delete(runId);
    this.#board.announce(runId);
  }

  async probe(): Promise<void> {}

  watch(options: WatchOptions): AsyncIterable<void> {
    return watchBoard(this.#board, options);
  }

  async warnings(): Promise<readonly string[]> {
    return [];
  }

  async close(): Promise<void> {
    this.#board.close();
  }

  #page(runId: string, { from = 0, limit = DEFAULT_EVENT_PAGE }: EventRange): EventPage {
    const { texts, firstSeq } = this.#runs.get(runId) ?? { texts: [], firstSeq: 0 };
    const first = Math.max(from, firstSeq);
    return eventPage(first, texts.slice(first, first + limit) as string[], texts.length);
  }

  /** The run, or a new record that is not stored yet. Throws if the run was opened in a later epoch. */
  #unfencedRun(runId: string, epoch: number): LoggedRun {
    const run = this.#runs.get(runId) ?? { epoch, isEnded: false, position: this.#count(), texts: [], firstSeq: 0 };
    if (run.epoch <= epoch) return run;
    throw storeErrors.olderEpoch(runId, epoch, run.epoch);
  }

  #fence(runId: string, run: LoggedRun, epoch: number): void {
    run.epoch = epoch;
    this.#runs.set(runId, run);
  }

  #count(): number {
    this.#madeCount += 1;
    return this.#madeCount;
  }

  /**
   * Unhandled runs that no consumer holds. A run that has reached the maximum number of deliveries becomes a dead
   * letter.
   */
  #waiting(group: string): UnhandledRun[] {
    const waiting = this.#unhandledRuns(group).filter(
      ({ place }) => !isLeaseHeld(this.#now(), place.leaseExpiresAt, place.leaseMs),
    );
    for (const { place } of waiting) place.isDead = place.attempts >= MAX_DELIVERIES;
    return waiting.filter(({ place }) => !place.isDead);
  }

  /** Runs with events that the group has not acknowledged, without dead letters. */
  #unhandledRuns(group: string): UnhandledRun[] {
    return [...this.#runs]
      .map(([runId, run]) => ({ runId, run, place: this.#groupPosition(group, runId) }))
      .filter(({ run, place }) => !place.isDead && Math.max(place.nextSeq, run.firstSeq) < run.texts.length);
  }

  #groupPosition(group: string, runId: string): GroupPosition {
    const places = this.#groups.get(group) ?? new Map<string, GroupPosition>();
    this.#groups.set(group, places);
    const place = places.get(runId) ?? {
      nextSeq: 0,
      served: 0,
      attempts: 0,
      reason: '',
      leaseExpiresAt: 0,
      leaseMs: 0,
      isDead: false,
    };
    places.set(runId, place);
    return place;
  }

  #latest({ group, runId, token }: Delivery): GroupPosition | undefined {
    const place = this.#groups.get(group)?.get(runId);
    return place?.served === token && place.leaseExpiresAt > 0 && !place.isDead ? place : undefined;
  }
}
