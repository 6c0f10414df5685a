import { LAG_SAMPLE } from '@toolscript/core/internal';
import {
  MAX_DELIVERIES,
  type DeadLetter,
  type DeliveryOptionsSchema,
  type LoggedRun,
  type LogPosition,
} from '@toolscript/core/ports';
import type { Delivery } from '@toolscript/core/protocol';
import type { Database, Row } from './database.js';
import { addEvents, readEvents, type TextPage } from './event-tables.js';
import { encode } from './rows.js';
import { refuseAfterEnd, type EventBatch } from '../event-batches.js';
import { storeErrors } from '../store-errors.js';

type ParsedDelivery = ReturnType<typeof DeliveryOptionsSchema.parse>;

export interface LogTailTexts extends TextPage {
  readonly position: LogPosition | undefined;
}

/** A delivery whose events are JSON text. */
export interface DeliveredTexts extends Omit<Delivery, 'events'> {
  readonly texts: readonly string[];
}

const ORDINARY = { flush: false };

/** The runs with events that the group has not acknowledged, without dead letters. */
const UNHANDLED = `FROM log_runs
  LEFT JOIN log_groups ON log_groups.run_id = log_runs.run_id AND log_groups.name = :name
  WHERE log_runs.next_seq > coalesce(log_groups.next_seq, 0) AND log_runs.next_seq > log_runs.first_seq
    AND coalesce(log_groups.is_dead, 0) = 0`;

const BY_TURN = 'ORDER BY coalesce(log_groups.served, 0), log_runs.position';

/** Finds the run that was served longest ago, among the runs that have events for the group and no lease. */
const NEXT_RUN = `
  SELECT log_runs.run_id, log_groups.attempts ${UNHANDLED}
    AND NOT (coalesce(log_groups.lease_expires_at, 0) > :now
      AND log_groups.lease_expires_at <= :now + 2 * log_groups.lease_ms)
  ${BY_TURN} LIMIT 1`;

const FIRST_UNHANDLED = `
  SELECT event FROM (
    SELECT log_runs.run_id, CASE WHEN log_runs.first_seq > coalesce(log_groups.next_seq, 0) THEN log_runs.first_seq
      ELSE coalesce(log_groups.next_seq, 0) END AS seq ${UNHANDLED} ${BY_TURN} LIMIT ${LAG_SAMPLE}
  ) AS waiting JOIN log_events USING (run_id, seq)`;

/** The log in the database. Each function is one transaction. */
export class LogTables {
  constructor(readonly database: Database) {}

  open(runId: string, epoch: number): Promise<LogPosition> {
    return this.database.write(async () => {
      return rowPosition((await this.#fence(runId, epoch)) ?? (await this.#insert(runId, epoch)));
    }, ORDINARY);
  }

  /** Stores events. Returns the run's next `seq`. */
  publish(epoch: number, batch: EventBatch): Promise<number> {
    return this.database.write(async () => {
      const { runId } = batch;
      const row = await this.#fence(runId, epoch);
      // defence: only-opened-runs-are-published
      if (row === undefined) throw storeErrors.runNotOpened(runId);
      const { nextSeq, isEnded } = rowPosition(row);
      const { added } = await addEvents(this.database, logKey(batch.runId), batch, nextSeq);
      if (added === 0) return nextSeq;
      refuseAfterEnd(batch, isEnded);
      await this.database.run('UPDATE log_runs SET next_seq = :nextSeq, is_ended = :isEnded WHERE run_id = :runId', {
        runId,
        nextSeq: nextSeq + added,
        isEnded: batch.endIndex === -1 ? 0 : 1,
      });
      return nextSeq + added;
    }, ORDINARY);
  }

  read(range: { runId: string; from?: number | undefined; limit?: number | undefined }): Promise<LogTailTexts> {
    return this.database.read(async () => {
      const row = await this.#find(range.runId);
      const from = Math.max(range.from ?? 0, (row?.first_seq as number | undefined) ?? 0);
      return {
        ...(await readEvents(this.database, logKey(range.runId), { ...range, from })),
        position: row && rowPosition(row),
      };
    });
  }

  receive({ group, leaseMs, limit }: ParsedDelivery, now: number): Promise<DeliveredTexts | undefined> {
    return this.database.write(async () => {
      await this.#lockGroup(group);
      const name = encode(group);
      for (;;) {
        const next = await this.database.first(NEXT_RUN, { name, now });
        if (next === undefined) return undefined;
        const runId = next.run_id as string;
        if (((next.attempts as number | null) ?? 0) < MAX_DELIVERIES)
          return await this.#deliver({ group, runId, leaseMs, limit }, now);
        await this.database.run('UPDATE log_groups SET is_dead = 1 WHERE name = :name AND run_id = :runId', {
          name,
          runId,
        });
      }
    }, ORDINARY);
  }

  acknowledge(delivery: Omit<Delivery, 'events'>, nextSeq: number): Promise<boolean> {
    return this.#settle(delivery, 'next_seq = :nextSeq, attempts = 0, reason = \'""\', lease_expires_at = 0', {
      nextSeq,
    });
  }

  reject(delivery: Omit<Delivery, 'events'>, reason: string): Promise<boolean> {
    const change = `reason = :reason, lease_expires_at = 0, is_dead = CASE WHEN attempts >= ${MAX_DELIVERIES} THEN 1 ELSE 0 END`;
    return this.#settle(delivery, change, { reason: encode(reason) });
  }

  async deadLetters({ group, after, limit }: { group: string; after: number; limit: number }) {
    const rows = await this.database.all(
      `SELECT log_groups.*, log_runs.position FROM log_groups JOIN log_runs USING (run_id)
      WHERE name = :name AND is_dead = 1 AND position > :after ORDER BY position LIMIT :limit`,
      { name: encode(group), after, limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    return {
      letters: page.map(rowDeadLetter),
      next: page.length < rows.length ? (page.at(-1)!.position as number) : undefined,
    };
  }

  revive(group: string, runId: string): Promise<boolean> {
    return this.database.write(
      async () =>
        (await this.database.first(
          `UPDATE log_groups SET is_dead = 0, attempts = 0, reason = '""', lease_expires_at = 0
          WHERE name = :name AND run_id = :runId AND is_dead = 1 RETURNING run_id`,
          { name: encode(group), runId },
        )) !== undefined,
    );
  }

  /** The lag of a group, with the first unhandled event of the runs that are delivered next. */
  lag(group: string): Promise<{ runs: number; deadLetters: number; texts: string[] }> {
    const name = encode(group);
    const count = async (rows: string) =>
      (await this.database.first(`SELECT count(*) AS count ${rows}`, { name }))!.count as number;
    return this.database.read(async () => ({
      runs: await count(UNHANDLED),
      deadLetters: await count('FROM log_groups WHERE name = :name AND is_dead = 1'),
      texts: (await this.database.all(FIRST_UNHANDLED, { name })).map(({ event }) => event as string),
    }));
  }

  async list(after: number, limit: number): Promise<{ runs: LoggedRun[]; next: number | undefined }> {
    const rows = await this.database.all(
      'SELECT * FROM log_runs WHERE position > :after ORDER BY position LIMIT :limit',
      {
        after,
        limit: limit + 1,
      },
    );
    const page = rows.slice(0, limit);
    return {
      runs: page.map((row) => ({ runId: row.run_id as string, ...rowPosition(row) })),
      next: page.length < rows.length ? (page.at(-1)!.position as number) : undefined,
    };
  }

  trim(runId: string, seq: number, epoch: number): Promise<void> {
    return this.database.write(async () => {
      const row = await this.database.first(
        `UPDATE log_runs SET first_seq = CASE WHEN next_seq < :seq THEN next_seq ELSE :seq END
        WHERE run_id = :runId AND first_seq < :seq AND epoch <= :epoch RETURNING first_seq`,
        { runId, seq, epoch },
      );
      if (row === undefined) return;
      const before = { runId, firstSeq: row.first_seq! };
      await this.database.run('DELETE FROM log_events WHERE run_id = :runId AND seq < :firstSeq', before);
    }, ORDINARY);
  }

  delete(runId: string, epoch: number): Promise<void> {
    const sql = 'DELETE FROM log_runs WHERE run_id = :runId AND epoch <= :epoch';
    return this.database.write(() => this.database.run(sql, { runId, epoch }));
  }

  /** Locks a group, so that two consumers never get the same run. */
  #lockGroup(group: string): Promise<void> {
    return this.database.lock(`group ${encode(group)}`);
  }

  #find(runId: string): Promise<Row | undefined> {
    return this.database.first('SELECT * FROM log_runs WHERE run_id = :runId', { runId });
  }

  /** Locks the run and raises its epoch. Returns undefined if the log does not know the run. */
  async #fence(runId: string, epoch: number): Promise<Row | undefined> {
    const sql = `SELECT * FROM log_runs WHERE run_id = :runId ${this.database.dialect.forUpdate}`;
    const row = await this.database.first(sql, { runId });
    if (row === undefined) return undefined;
    refuseOlderEpoch(row, epoch);
    if (row.epoch !== epoch)
      await this.database.run('UPDATE log_runs SET epoch = :epoch WHERE run_id = :runId', { runId, epoch });
    return row;
  }

  /** Adds a run. Another transaction may add the run at the same time. */
  async #insert(runId: string, epoch: number): Promise<Row> {
    const insert = `INSERT INTO log_runs VALUES (:runId, :position, :epoch, 0, 0, 0)
      ON CONFLICT (run_id) DO UPDATE SET
        epoch = CASE WHEN log_runs.epoch > excluded.epoch THEN log_runs.epoch ELSE excluded.epoch END
      RETURNING *`;
    const row = (await this.database.place([insert], { runId, epoch }))!;
    refuseOlderEpoch(row, epoch);
    return row;
  }

  async #deliver(
    { group, runId, leaseMs, limit }: { group: string; runId: string; leaseMs: number; limit: number | undefined },
    now: number,
  ): Promise<DeliveredTexts> {
    const token = await this.database.nextNumber();
    const row = (await this.database.first(
      `INSERT INTO log_groups VALUES (:name, :runId, 0, :token, 1, '""', :leaseMs, :expiresAt, 0)
      ON CONFLICT (name, run_id) DO UPDATE SET
        served = :token, attempts = log_groups.attempts + 1, lease_ms = :leaseMs, lease_expires_at = :expiresAt
      RETURNING next_seq, attempts`,
      { name: encode(group), runId, token, leaseMs, expiresAt: now + leaseMs },
    ))!;
    const { texts } = await readEvents(this.database, logKey(runId), { from: row.next_seq as number, limit });
    return { group, runId, token, attempt: row.attempts as number, texts };
  }

  #settle(
    { group, runId, token }: Omit<Delivery, 'events'>,
    change: string,
    parameters: Record<string, string | number>,
  ): Promise<boolean> {
    const settled = async () => {
      await this.#lockGroup(group);
      const row = await this.database.first(
        `UPDATE log_groups SET ${change}
        WHERE name = :name AND run_id = :runId AND served = :token AND lease_expires_at > 0 AND is_dead = 0
        RETURNING run_id`,
        { ...parameters, name: encode(group), runId, token },
      );
      return row !== undefined;
    };
    return this.database.write(settled, ORDINARY);
  }
}

function refuseOlderEpoch(row: Row, epoch: number): void {
  // defence: later-epochs-own-the-log
  if ((row.epoch as number) > epoch) throw storeErrors.olderEpoch(row.run_id as string, epoch, row.epoch as number);
}

function rowPosition(row: Row): LogPosition {
  return { nextSeq: row.next_seq as number, isEnded: row.is_ended === 1 };
}

function rowDeadLetter(row: Row): DeadLetter {
  return {
    runId: row.run_id as string,
    seq: row.next_seq as number,
    reason: JSON.parse(row.reason as string) as string,
  };
}

function logKey(runId: string) {
  return { table: 'log_events', key: runId } as const;
}
