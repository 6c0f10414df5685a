import {
  DeadLetterQuerySchema,
  DeliveryOptionsSchema,
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
  DEFAULT_PAGE,
} from '@toolscript/core/ports';
import {
  PageQuerySchema,
  RunFenceSchema,
  type Delivery,
  type EventLog,
  type StreamEvent,
} from '@toolscript/core/protocol';
import type { TableCalls } from './calls.js';
import { readEventPage, isStoreId, nextCursor } from './table-threads.js';
import { LiveTails } from './live-tails.js';
import { watchBoard } from './change-board.js';
import { checkBatch, oldestTime } from './event-batches.js';
import { subscribeByReading, type LogTail } from './event-subscription.js';
import { parseShape, readCursor } from './shapes.js';
import { ANY_EPOCH, EpochSchema } from './store-rules.js';
import { WorkSlices } from './work-slices.js';

export class TableEventLog implements EventLog {
  readonly #tails = new LiveTails();
  readonly #slices = new WorkSlices();

  constructor(
    readonly database: TableCalls,
    readonly now: () => number,
  ) {
    database.onForeignChange = (key) => (key === undefined ? this.#tails.clear() : this.#tails.delete(key));
  }

  async open(runId: string, epoch: number): Promise<LogPosition> {
    const fence = parseShape(RunFenceSchema, { runId, epoch }, 'fence');
    return this.database.call('log', 'open', fence.runId, fence.epoch);
  }

  async publish(epoch: number, events: readonly StreamEvent[]): Promise<void> {
    const batch = checkBatch(events);
    parseShape(RunFenceSchema, { runId: batch.runId, epoch }, 'fence');
    const nextSeq = await this.database.call('log', 'publish', epoch, batch);
    this.#tails.add(batch, nextSeq);
    this.database.announce(batch.runId);
  }

  async read(runId: string, range: EventRange = {}): Promise<EventPage> {
    const { from, limit } = parseShape(EventRangeSchema, range, 'range');
    if (!isStoreId(runId)) return { events: [] };
    const page = await this.database.call('log', 'read', {
      runId,
      from,
      limit,
    });
    return readEventPage(page, this.#slices.begin());
  }

  async *subscribe(runId: string, options: SubscribeOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    const read = async (id: string, from: number): Promise<LogTail> => {
      const tail = this.#tails.read(id, from) ?? (await this.database.call('log', 'read', { runId: id, from }));
      return {
        ...(await readEventPage(tail, this.#slices.begin())),
        position: tail.position,
      };
    };
    this.#tails.follow(runId);
    try {
      yield* subscribeByReading({ board: this.database.board, read }, runId, options);
    } finally {
      this.#tails.leave(runId);
    }
  }

  async receive(options: DeliveryOptions): Promise<Delivery | undefined> {
    const parsed = parseShape(DeliveryOptionsSchema, options, 'delivery');
    const delivered = await this.database.call('log', 'receive', parsed, this.now());
    if (delivered === undefined) return undefined;
    const { texts, ...delivery } = delivered;
    return {
      ...delivery,
      ...(await readEventPage({ texts, next: undefined }, this.#slices.begin())),
    };
  }

  async acknowledge(delivery: Delivery, seq = delivery.events.at(-1)!.seq): Promise<boolean> {
    if (!delivery.events.some((event) => event.seq === seq)) return false;
    return this.#announceSettled(
      delivery.runId,
      this.database.call('log', 'acknowledge', deliveryName(delivery), seq + 1),
    );
  }

  async reject(delivery: Delivery, reason: string): Promise<boolean> {
    return this.#announceSettled(delivery.runId, this.database.call('log', 'reject', deliveryName(delivery), reason));
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage> {
    const { group, after, limit = DEFAULT_PAGE } = parseShape(DeadLetterQuerySchema, query, 'query');
    const position = after === undefined ? 0 : readCursor('dead', after);
    const { letters, next } = await this.database.call('log', 'deadLetters', {
      group,
      after: position,
      limit,
    });
    return { letters, ...nextCursor('dead', next) };
  }

  async revive(group: string, runId: string): Promise<boolean> {
    return isStoreId(runId) && this.#announceSettled(runId, this.database.call('log', 'revive', group, runId));
  }

  async lag(group: string): Promise<GroupLag> {
    const { texts, ...lag } = await this.database.call('log', 'lag', group);
    return { ...lag, oldestAt: oldestTime(texts) };
  }

  async list(query: LoggedRunQuery = {}): Promise<LoggedRunPage> {
    const { after, limit = DEFAULT_PAGE } = parseShape(PageQuerySchema, query, 'query');
    const position = after === undefined ? 0 : readCursor('logged', after);
    const { runs, next } = await this.database.call('log', 'list', position, limit);
    return { runs, ...nextCursor('logged', next) };
  }

  async trim(runId: string, seq: number, epoch: number): Promise<void> {
    const { from } = parseShape(EventRangeSchema, { from: seq }, 'seq');
    parseShape(EpochSchema, epoch, 'epoch');
    if (isStoreId(runId)) await this.database.call('log', 'trim', runId, from!, epoch);
  }

  async delete(runId: string, epoch = ANY_EPOCH): Promise<void> {
    parseShape(EpochSchema, epoch, 'epoch');
    if (!isStoreId(runId)) return;
    await this.database.call('log', 'delete', runId, epoch);
    this.#tails.delete(runId);
    this.database.announce(runId);
  }

  async probe(): Promise<void> {
    await this.database.call('runs', 'probe');
  }

  watch(options: WatchOptions): AsyncIterable<void> {
    return watchBoard(this.database.board, options);
  }

  /**
   * Returns no warnings, because a database stores events as safely as everything else. Rejects if the database does
   * not answer.
   */
  async warnings(): Promise<readonly string[]> {
    await this.list({ limit: 1 });
    return [];
  }

  close(): Promise<void> {
    return this.database.close();
  }

  async #announceSettled(runId: string, call: Promise<boolean>): Promise<boolean> {
    const isSettled = await call;
    if (isSettled) this.database.announce(runId);
    return isSettled;
  }
}

function deliveryName({ group, runId, token, attempt }: Delivery): Omit<Delivery, 'events'> {
  return { group, runId, token, attempt };
}
