import {
  DeadLetterQuerySchema,
  DEFAULT_EVENT_PAGE,
  DeliveryOptionsSchema,
  EventOrderError,
  EventRangeSchema,
  MAX_DELIVERIES,
  MAX_EVENT_PAGE_LENGTH,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeliveryOptions,
  type EventLog,
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
import { LAG_SAMPLE } from '@toolscript/core/internal';
import {
  PageQuerySchema,
  RunFenceSchema,
  StoreIdSchema,
  type Delivery,
  type StreamEvent,
} from '@toolscript/core/protocol';
import { RedisChanges } from './changes.js';
import { RedisConnection, type Reply } from './connection.js';
import { redisPlace } from './place.js';
import { redisWarnings } from './warnings.js';
import { watchBoard } from '../change-board.js';
import { checkBatch, eventPage, oldestTime, type EventBatch } from '../event-batches.js';
import { subscribeByReading, type LogTail } from '../event-subscription.js';
import { parseShape, readCursor, writeCursor } from '../shapes.js';
import { ANY_EPOCH, EpochSchema } from '../store-rules.js';
import { storeErrors } from '../store-errors.js';

/**
 * Maximum size of a page in Redis, in UTF-8 bytes. A UTF-16 unit takes at most three bytes, and `eventPage` truncates
 * the page exactly.
 */
const MAX_PAGE_BYTES = 3 * MAX_EVENT_PAGE_LENGTH;

/** The log of live events in Redis Streams. `scripts.ts` describes its keys. */
export class RedisEventLog implements EventLog {
  readonly #connection: RedisConnection;
  /** Undefined: Redis uses its own clock. */
  readonly #now: (() => number) | undefined;
  readonly #changes: RedisChanges;
  /**
   * Reads in progress that began after the run's last change, by run and position. Readers at the same position share
   * one read.
   */
  readonly #reads = new Map<string, Map<number, Promise<LogTail>>>();

  private constructor(connection: RedisConnection, now: (() => number) | undefined) {
    this.#connection = connection;
    this.#now = now;
    this.#changes = new RedisChanges(connection, (runId) => {
      if (runId === undefined) this.#reads.clear();
      else this.#reads.delete(runId);
    });
  }

  /**
   * Connects to Redis. `now`: the clock of leases. Default: the clock of Redis. Rejects with a `ToolscriptUsageError`
   * for a malformed URL, and with a `StoreUnavailableError` if Redis cannot be used.
   */
  static async open(url: string, { now }: { readonly now?: (() => number) | undefined } = {}): Promise<RedisEventLog> {
    return new RedisEventLog(await RedisConnection.open(redisPlace(url)), now);
  }

  async open(runId: string, epoch: number): Promise<LogPosition> {
    const fence = parseShape(RunFenceSchema, { runId, epoch }, 'fence');
    const [kind, first, ended] = await this.#texts('open', [fence.runId, fence.epoch]);
    if (kind === 'stale') throw storeErrors.olderEpoch(runId, epoch, Number(first));
    return { nextSeq: Number(first), isEnded: ended === '1' };
  }

  async publish(epoch: number, events: readonly StreamEvent[]): Promise<void> {
    const batch = checkBatch(events);
    const { runId, firstSeq, endIndex, texts } = batch;
    parseShape(RunFenceSchema, { runId, epoch }, 'fence');
    const answer = await this.#texts('publish', [runId, epoch, firstSeq, endIndex, ...texts]);
    refuse(answer, batch, epoch);
    this.#changes.announce(runId);
  }

  async read(runId: string, range: EventRange = {}): Promise<EventPage> {
    const { from = 0, limit = DEFAULT_EVENT_PAGE } = parseShape(EventRangeSchema, range, 'range');
    if (!StoreIdSchema.safeParse(runId).success) return { events: [] };
    const { position: _position, ...page } = await this.#read(runId, from, limit);
    return page;
  }

  subscribe(runId: string, options: SubscribeOptions = {}): AsyncIterable<StreamEvent> {
    const read = (id: string, from: number) => this.#sharedRead(id, from);
    return subscribeByReading({ board: this.#changes.board, read }, runId, options);
  }

  async receive(options: DeliveryOptions): Promise<Delivery | undefined> {
    const { group, leaseMs, limit = DEFAULT_EVENT_PAGE } = parseShape(DeliveryOptionsSchema, options, 'delivery');
    const parameters = [JSON.stringify(group), leaseMs, limit, MAX_PAGE_BYTES, this.#now?.() ?? '', MAX_DELIVERIES];
    const reply = (await this.#connection.script('receive', parameters)) as readonly Reply[];
    if (reply.length === 0) return undefined;
    const [runId, token, attempt, from, next, texts] = reply as [string, string, number, string, string, string[]];
    const { events } = eventPage(Number(from), texts, Number(next));
    return { group, runId, token: Number(token), attempt, events };
  }

  async acknowledge(delivery: Delivery, seq = delivery.events.at(-1)!.seq): Promise<boolean> {
    if (!delivery.events.some((event) => event.seq === seq)) return false;
    return this.#isDone('acknowledge', [...redisDeliveryKey(delivery), seq + 1], delivery.runId);
  }

  async reject(delivery: Delivery, reason: string): Promise<boolean> {
    return this.#isDone(
      'reject',
      [...redisDeliveryKey(delivery), JSON.stringify(reason), MAX_DELIVERIES],
      delivery.runId,
    );
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage> {
    const { group, after, limit = DEFAULT_PAGE } = parseShape(DeadLetterQuerySchema, query, 'query');
    const position = after === undefined ? 0 : readCursor('dead', after);
    const rows = await this.#rows('deadLetters', [JSON.stringify(group), position, limit + 1]);
    const letters = rows.slice(0, limit).map(([, runId, seq, reason]) => ({
      runId,
      seq: Number(seq),
      reason: JSON.parse(reason) as string,
    }));
    return { letters, ...redisNextCursor('dead', rows, limit) };
  }

  async revive(group: string, runId: string): Promise<boolean> {
    if (!StoreIdSchema.safeParse(runId).success) return false;
    return this.#isDone('revive', [JSON.stringify(group), runId], runId);
  }

  async lag(group: string): Promise<GroupLag> {
    const reply = await this.#connection.script('lag', [JSON.stringify(group), LAG_SAMPLE]);
    const [runs, deadLetters, texts] = reply as readonly [number, number, readonly string[]];
    return { runs, deadLetters, oldestAt: oldestTime(texts) };
  }

  async list(query: LoggedRunQuery = {}): Promise<LoggedRunPage> {
    const { after, limit = DEFAULT_PAGE } = parseShape(PageQuerySchema, query, 'query');
    const position = after === undefined ? 0 : readCursor('logged', after);
    const rows = await this.#rows('list', [position, limit + 1]);
    const runs = rows.slice(0, limit).map(([, runId, next, ended]) => ({
      runId,
      nextSeq: Number(next),
      isEnded: ended === '1',
    }));
    return { runs, ...redisNextCursor('logged', rows, limit) };
  }

  async trim(runId: string, seq: number, epoch: number): Promise<void> {
    const { from } = parseShape(EventRangeSchema, { from: seq }, 'seq');
    parseShape(EpochSchema, epoch, 'epoch');
    if (StoreIdSchema.safeParse(runId).success) await this.#connection.script('trim', [runId, from!, epoch]);
  }

  async delete(runId: string, epoch = ANY_EPOCH): Promise<void> {
    parseShape(EpochSchema, epoch, 'epoch');
    if (StoreIdSchema.safeParse(runId).success) await this.#isDone('remove', [runId, epoch], runId);
  }

  async probe(): Promise<void> {
    await this.#connection.script('write', []);
  }

  watch(options: WatchOptions): AsyncIterable<void> {
    return watchBoard(this.#changes.board, options);
  }

  async warnings(): Promise<readonly string[]> {
    return redisWarnings(await this.#connection.info('persistence'), await this.#connection.info('memory'));
  }

  async close(): Promise<void> {
    const closed = this.#changes.close();
    await this.#connection.close();
    await closed;
  }

  async #read(runId: string, from: number, limit: number): Promise<LogTail> {
    const reply = await this.#connection.script('read', [runId, from, limit, MAX_PAGE_BYTES]);
    const [next, ended, first, texts = []] = reply as readonly [string?, string?, string?, (readonly string[])?];
    if (next === undefined) return { events: [], position: undefined };
    const position = { nextSeq: Number(next), isEnded: ended === '1' };
    return { ...eventPage(Number(first), texts, position.nextSeq), position };
  }

  async #sharedRead(runId: string, from: number): Promise<LogTail> {
    const reads = this.#reads.get(runId) ?? new Map<number, Promise<LogTail>>();
    this.#reads.set(runId, reads);
    const known = reads.get(from);
    if (known !== undefined) return known;
    const read = this.#read(runId, from, DEFAULT_EVENT_PAGE);
    reads.set(from, read);
    try {
      return await read;
    } finally {
      if (reads.get(from) === read) reads.delete(from);
      if (reads.size === 0 && this.#reads.get(runId) === reads) this.#reads.delete(runId);
    }
  }

  async #texts(name: 'open' | 'publish', parameters: readonly (string | number)[]): Promise<readonly string[]> {
    return (await this.#connection.script(name, parameters)) as readonly string[];
  }

  async #rows(name: 'list' | 'deadLetters', parameters: readonly (string | number)[]): Promise<readonly ListRow[]> {
    return (await this.#connection.script(name, parameters)) as unknown as readonly ListRow[];
  }

  async #isDone(
    name: 'acknowledge' | 'reject' | 'revive' | 'remove',
    parameters: readonly (string | number)[],
    runId: string,
  ): Promise<boolean> {
    const isDone = (await this.#connection.script(name, parameters)) === 1;
    if (isDone) this.#changes.announce(runId);
    return isDone;
  }
}

/** The position of a row, its run, and two more columns. */
type ListRow = readonly [string, string, string, string];

function redisNextCursor(kind: string, rows: readonly ListRow[], limit: number): { next?: string | undefined } {
  return rows.length > limit ? { next: writeCursor(kind, Number(rows[limit - 1]![0])) } : {};
}

function redisDeliveryKey({ group, runId, token }: Delivery): [string, string, number] {
  return [JSON.stringify(group), runId, token];
}

function refuse([kind, first, second]: readonly string[], { runId, firstSeq }: EventBatch, epoch: number): void {
  switch (kind) {
    case 'unknown':
      throw storeErrors.runNotOpened(runId);
    case 'stale':
      throw storeErrors.olderEpoch(runId, epoch, Number(first));
    case 'gap':
      throw new EventOrderError(
        `Event ${firstSeq} of the run ${runId} leaves a gap: ${first} is expected next. Append that event first`,
      );
    case 'conflict':
      throw new EventOrderError(
        `The run ${runId} has a different event ${second} already: ${first} is expected next. Read the run's events before you append`,
      );
    case 'ended':
      throw new EventOrderError(`The run ${runId} has ended: no event follows its last one. Start another run`);
    default:
  }
}
