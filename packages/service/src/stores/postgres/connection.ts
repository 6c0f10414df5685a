import { setTimeout as delay } from 'node:timers/promises';
import type { PoolClient, QueryResult } from 'pg';
import type { Database, Dialect, Parameters, Row, Value } from '../tables/database.js';
import { isConflict, isLostPostgres, isUnsent, WAIT_MS } from './faults.js';
import { insertStatement, postgresStatement, type Statement } from './statement.js';

/** Maximum number of attempts at a transaction that conflicts with other transactions. */
const MAX_ATTEMPTS = 20;

/** Maximum number of rows in one statement, because PostgreSQL accepts at most 65 535 parameters. */
const MAX_ROWS = 1_000;

const DIALECT: Dialect = {
  forUpdate: 'FOR NO KEY UPDATE',
  skipLocked: 'FOR NO KEY UPDATE OF candidate SKIP LOCKED',
  indexedBy: () => '',
  isLongText: (column, parameter) => `(left(${column}, 200) = left(${parameter}, 200) AND ${column} = ${parameter})`,
  indexedText: (text) => `md5(${text})`,
  contains: (column, parameter) => `strpos(${column}, ${parameter}) > 0`,
  isOneOf: (column, parameter) =>
    `${column} = ANY (ARRAY(SELECT json_array_elements_text(CAST(${parameter} AS json))))`,
  isSubset: (column, parameter) => `CAST(${column} AS jsonb) <@ CAST(${parameter} AS jsonb)`,
  union: (column, parameter) => `(SELECT coalesce(CAST(jsonb_agg(DISTINCT value COLLATE "C") AS text), '[]')
    FROM jsonb_array_elements_text(CAST(${column} AS jsonb) || CAST(${parameter} AS jsonb)) AS value)`,
};

/** The effect of `SET LOCAL` ends with the transaction, so it also works over a pooler that shares connections. */
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL lock_timeout = ${WAIT_MS}; SET LOCAL idle_in_transaction_session_timeout = ${WAIT_MS}`;
const UNFLUSHED = 'SET LOCAL synchronous_commit = off';

/** A transaction that writes almost nothing. Its commit also flushes the earlier transactions. */
const FLUSH = `SELECT pg_logical_emit_message(true, 'toolscript', '')`;

/** Locks a name until the transaction ends. Each schema of a database has separate locks. */
const lockSql = (name: string) =>
  `pg_advisory_xact_lock(hashtextextended(current_schema() || ' toolscript ' || ${name}, 0))`;

/** The next positions. Locks them until the transaction ends. */
const POSITIONS = `held AS MATERIALIZED (SELECT ${lockSql("'positions'")}), positions AS MATERIALIZED (
    SELECT nextval('positions') AS position FROM held, generate_series(1, CAST(:count AS INTEGER)))`;

/**
 * A connection that one call uses exclusively. Transactions see the changes that others have committed (`READ
 * COMMITTED`), and lock the rows on which their own changes depend. A transaction is repeated after a deadlock, and
 * after the violation of a unique or foreign key: its checks then see the changes of the other transaction.
 */
export class PostgresConnection implements Database {
  readonly dialect = DIALECT;
  readonly #client: PoolClient;
  /** True after the connection ended during a commit, so that the result of the commit is unknown. */
  isInDoubt = false;
  /** True if the open transaction has the lock of positions. */
  #hasPosition = false;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async all(sql: string, parameters: Parameters = {}): Promise<Row[]> {
    return (await this.#query(postgresStatement(sql, parameters))).rows as Row[];
  }

  async first(sql: string, parameters: Parameters = {}): Promise<Row | undefined> {
    return (await this.all(sql, parameters))[0];
  }

  async run(sql: string, parameters: Parameters = {}): Promise<void> {
    await this.all(sql, parameters);
  }

  async insert(table: string, rows: readonly (readonly Value[])[]): Promise<void> {
    for (let index = 0; index < rows.length; index += MAX_ROWS)
      await this.#query(insertStatement(table, rows.slice(index, index + MAX_ROWS)));
  }

  async write<Result>(
    action: () => Promise<Result>,
    { flush = true }: { readonly flush?: boolean | undefined } = {},
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#transaction(flush ? BEGIN : `${BEGIN}; ${UNFLUSHED}`, action, () =>
          this.#doubtful(() => (flush && this.#hasPosition ? this.#commitThenFlush() : this.#commit())),
        );
      } catch (error) {
        if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
        await delay(Math.random() * 5 * attempt);
      }
    }
  }

  read<Result>(action: () => Promise<Result>): Promise<Result> {
    return this.#transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', action, () => this.#commit());
  }

  async lock(name: string): Promise<void> {
    await this.run(`SELECT ${lockSql(':name')}`, { name });
  }

  async place(statements: readonly string[], parameters: Parameters, count = 1): Promise<Row | undefined> {
    this.#hasPosition = true;
    const parts = statements.map((sql) =>
      sql.replaceAll(
        /:position(\d*)\b/gu,
        (_name, index: string) => `(SELECT position FROM positions ORDER BY position OFFSET ${Number(index)} LIMIT 1)`,
      ),
    );
    const earlier = parts.slice(0, -1).map((sql, index) => `, written_${index} AS (${sql})`);
    return this.first(`WITH ${POSITIONS}${earlier.join('')} ${parts.at(-1)!}`, { ...parameters, count });
  }

  async nextPositions(count: number): Promise<number[]> {
    this.#hasPosition = true;
    const rows = await this.all(`WITH ${POSITIONS} SELECT position FROM positions`, { count });
    return rows.map(({ position }) => position as number);
  }

  async nextNumber(): Promise<number> {
    return (await this.first(`SELECT nextval('positions') AS value`))!.value as number;
  }

  /** The time of the server, in ms since 1970. */
  async now(): Promise<number> {
    return (await this.first('SELECT NOW_MS AS now'))!.now as number;
  }

  /** Runs several statements, without parameters or results. */
  async script(sql: string): Promise<void> {
    await this.#client.query(sql);
  }

  /**
   * Runs one statement as a separate transaction. Returns the number of rows that the statement returned or changed.
   */
  async commit(sql: string, parameters: Parameters): Promise<number> {
    const { rowCount } = await this.#doubtful(() => this.#query(postgresStatement(sql, parameters)));
    return rowCount ?? 0;
  }

  /** The only column of the first row; undefined if there is no row. */
  async bytes(sql: string, parameters: Parameters): Promise<Uint8Array | undefined> {
    const { rows } = await this.#query(postgresStatement(sql, parameters));
    const row = rows[0] as Readonly<Record<string, Uint8Array>> | undefined;
    return row && Object.values(row)[0];
  }

  #query(statement: Statement): Promise<QueryResult> {
    return this.#client.query(statement);
  }

  async #transaction<Result>(
    begin: string,
    action: () => Promise<Result>,
    commit: () => Promise<unknown>,
  ): Promise<Result> {
    this.#hasPosition = false;
    await this.#client.query(begin);
    try {
      const result = await action();
      await commit();
      return result;
    } catch (error) {
      if (!isLostPostgres(error)) await this.#client.query('ROLLBACK');
      throw error;
    }
  }

  /**
   * Commits without a wait for the disk, because other transactions wait for the lock of positions that the commit
   * releases. Then waits for a flush, which the database combines with the flushes of others.
   */
  async #commitThenFlush(): Promise<void> {
    await this.#client.query(`${UNFLUSHED}; COMMIT`);
    await this.#client.query(FLUSH);
  }

  #commit(): Promise<unknown> {
    return this.#client.query('COMMIT');
  }

  async #doubtful<Result>(commit: () => Promise<Result>): Promise<Result> {
    try {
      return await commit();
    } catch (error) {
      this.isInDoubt = isLostPostgres(error) && !isUnsent(error);
      throw error;
    }
  }
}
