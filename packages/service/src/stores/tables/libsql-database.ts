import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreUnavailableError } from '@toolscript/core/ports';
import Libsql from 'libsql';
import type { Database, Dialect, Parameters, Row, Value } from './database.js';
import { BUSY_MS, sqliteCode } from './faults.js';
import { LIBSQL_MIGRATIONS } from './migrations.js';

/** "Tool" in ASCII: identifies the program that owns a file. */
const APPLICATION_ID = 0x546f6f6c;

/** The result or error of a call. */
export type Outcome<Result> = { readonly value: Result } | { readonly error: unknown };

/** Transactions of several calls that are committed together. */
interface Group {
  /** The index of the first call of the open transaction; undefined without an open transaction. */
  first: number | undefined;
  /** Whether a power failure must not undo the transaction. */
  isFlushed: boolean;
}

/** Only one connection writes at a time, so rows need no locks. */
const DIALECT: Dialect = {
  forUpdate: '',
  skipLocked: '',
  indexedBy: (index) => `INDEXED BY ${index}`,
  isLongText: (column, parameter) => `${column} = ${parameter}`,
  indexedText: (text) => text,
  contains: (column, parameter) => `instr(${column}, ${parameter}) > 0`,
  isOneOf: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  isSubset: (column, parameter) =>
    `NOT EXISTS (SELECT 1 FROM json_each(${column}) WHERE value NOT IN (SELECT value FROM json_each(${parameter})))`,
  union: (column, parameter) => `(SELECT json_group_array(value) FROM (
    SELECT value FROM json_each(${column}) UNION SELECT value FROM json_each(${parameter}) ORDER BY value))`,
};

/**
 * One connection to a file. SQLite itself is synchronous, so the connection needs a worker thread. Each call must end
 * before the next one begins.
 */
export class LibsqlDatabase implements Database {
  readonly dialect = DIALECT;
  readonly #connection: Libsql.Database;
  readonly #statements = new Map<string, Libsql.Statement>();
  readonly #identity: string | undefined;
  #isFlushing = true;
  #group: Group | undefined;

  private constructor(readonly path: string) {
    makeFile(path);
    this.#connection = new Libsql(path);
    this.#identity = fileIdentity(path);
  }

  /**
   * Creates a missing file, and migrates the schema. Rejects if the file cannot be opened. Tests pass `steps` of a
   * later version.
   */
  static async open(path: string, steps: readonly string[] = LIBSQL_MIGRATIONS): Promise<LibsqlDatabase> {
    const database = new LibsqlDatabase(path);
    try {
      await database.#open(path, steps);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async all(sql: string, parameters: Parameters = {}): Promise<Row[]> {
    return this.#all(sql, parameters);
  }

  async first(sql: string, parameters: Parameters = {}): Promise<Row | undefined> {
    return this.#all(sql, parameters)[0];
  }

  async run(sql: string, parameters: Parameters = {}): Promise<void> {
    this.#all(sql, parameters);
  }

  async insert(table: string, rows: readonly (readonly Value[])[]): Promise<void> {
    const sql = `INSERT INTO ${table} VALUES (${(rows[0] ?? []).map(() => '?').join(', ')})`;
    for (const row of rows) this.#statement(sql).all(row);
  }

  /** Runs several statements, without parameters or results. */
  script(sql: string): void {
    this.#connection.exec(sql);
  }

  /** Runs one transaction. `flush` (default true): a power failure after the call does not undo the transaction. */
  async write<Result>(
    action: () => Promise<Result>,
    { flush = true }: { readonly flush?: boolean | undefined } = {},
  ): Promise<Result> {
    if (this.#group !== undefined) return this.#writeInGroup(this.#group, action, flush);
    this.#setFlushing(flush);
    return this.#transaction('BEGIN IMMEDIATE', action);
  }

  /** Runs reads that all see the same state. */
  async read<Result>(action: () => Promise<Result>): Promise<Result> {
    return this.#connection.inTransaction ? action() : this.#transaction('BEGIN', action);
  }

  /**
   * Commits and flushes the writes of several calls together, because a flush takes the same time for many writes as
   * for one. A call that throws undoes only its own writes. If SQLite rolls the transaction back, or the commit fails,
   * all calls of the transaction fail.
   */
  async together<Result>(calls: readonly (() => Promise<Result>)[]): Promise<Outcome<Result>[]> {
    const group: Group = { first: undefined, isFlushed: false };
    const outcomes: Outcome<Result>[] = [];
    this.#group = group;
    for (const call of calls) {
      const before = group.first;
      const outcome = await callOutcome(call);
      outcomes.push(outcome);
      if (before === undefined && group.first !== undefined) group.first = outcomes.length - 1;
      // After some errors, SQLite has already rolled the whole transaction back.
      if ('error' in outcome && !this.#connection.inTransaction) failFrom(group, outcomes, outcome.error);
    }
    this.#group = undefined;
    const committed = await callOutcome(() => this.#commit(group));
    if ('error' in committed) failFrom(group, outcomes, committed.error);
    return outcomes;
  }

  async lock(): Promise<void> {}

  async place(statements: readonly string[], parameters: Parameters, count = 1): Promise<Row | undefined> {
    const positions = await this.nextPositions(count);
    const named = positions.map((position, index) => [`position${index === 0 ? '' : index}`, position] as const);
    const placed = { ...parameters, ...Object.fromEntries(named) };
    return statements.map((sql) => this.#all(sql, placed)).at(-1)![0];
  }

  async nextPositions(count: number): Promise<number[]> {
    const last = this.#lastPosition(count);
    return Array.from({ length: count }, (_, index) => last - count + index + 1);
  }

  async nextNumber(): Promise<number> {
    return this.#lastPosition(1);
  }

  /**
   * Throws a `StoreUnavailableError` if the file was deleted or replaced. The connection would still read and write it,
   * and everything would be lost at the end of the process.
   */
  requireFile(): void {
    // defence: deleted-files-are-noticed
    if (fileIdentity(this.path) !== this.#identity)
      throw new StoreUnavailableError(
        `${this.path} was deleted or replaced while it was open, so nothing more is stored. Stop the processes that use it, restore a backup of the file, and start them again.`,
      );
  }

  /** A number that changes when another connection writes. */
  version(): number {
    return this.#pragma('data_version');
  }

  get schemaVersion(): number {
    return this.#pragma('user_version');
  }

  close(): void {
    this.#connection.close();
  }

  async #open(path: string, steps: readonly string[]): Promise<void> {
    this.#connection.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    this.#refuseForeign(path);
    this.#enterWal();
    this.#connection.exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL');
    await this.write(async () => migrate(this, path, steps));
  }

  #all(sql: string, parameters: Parameters): Row[] {
    return this.#statement(sql).all(parameters) as Row[];
  }

  /** Takes as many positions, and returns the last one. */
  #lastPosition(count: number): number {
    return this.#all('UPDATE counter SET value = value + :count RETURNING value', { count })[0]!.value as number;
  }

  #statement(sql: string): Libsql.Statement {
    const statement = this.#statements.get(sql) ?? this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  async #writeInGroup<Result>(group: Group, action: () => Promise<Result>, flush: boolean): Promise<Result> {
    if (group.first === undefined) {
      this.#setFlushing(false);
      this.#connection.exec('BEGIN IMMEDIATE');
      group.first = 0;
    }
    group.isFlushed ||= flush;
    this.#connection.exec('SAVEPOINT call');
    try {
      const value = await action();
      this.#connection.exec('RELEASE call');
      return value;
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK TO call; RELEASE call');
      throw error;
    }
  }

  /**
   * Commits a group. SQLite reads the flush mode at the start of a transaction, but the need for a flush is known only
   * at its end. So a second transaction flushes the file for both.
   */
  async #commit({ first, isFlushed }: Group): Promise<void> {
    if (first === undefined) return;
    try {
      this.#connection.exec('COMMIT');
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK');
      throw error;
    }
    // The statement must change the value, because SQLite writes nothing for an update to the same value.
    if (isFlushed) await this.write(() => this.nextNumber());
  }

  #setFlushing(flush: boolean): void {
    if (flush !== this.#isFlushing) this.#connection.exec(`PRAGMA synchronous = ${flush ? 'FULL' : 'NORMAL'}`);
    this.#isFlushing = flush;
  }

  async #transaction<Result>(begin: string, action: () => Promise<Result>): Promise<Result> {
    this.#connection.exec(begin);
    try {
      const value = await action();
      this.#connection.exec('COMMIT');
      return value;
    } catch (error) {
      // After some errors, SQLite has already rolled the transaction back.
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK');
      throw error;
    }
  }

  /**
   * Enters WAL mode. If two processes create the same file at the same time, SQLite may report a lock in spite of the
   * busy timeout.
   */
  #enterWal(): void {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#connection.exec('PRAGMA journal_mode = WAL');
        return;
      } catch (error) {
        if (sqliteCode(error) !== 5 || attempt === 100) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      }
    }
  }

  /**
   * Rejects a database of another program. Checks for tables before the owner, because another process may create both
   * in one transaction between the two checks.
   */
  #refuseForeign(path: string): void {
    const isEmpty = this.#all('SELECT 1 FROM sqlite_master LIMIT 1', {}).length === 0;
    // defence: foreign-files-are-refused
    if (isEmpty || this.#pragma('application_id') === APPLICATION_ID) return;
    throw new StoreUnavailableError(`${path} is a database of another program. Name another file.`);
  }

  #pragma(name: string): number {
    return Object.values(this.#all(`PRAGMA ${name}`, {})[0]!)[0] as number;
  }
}

/** Creates a missing file. Lets only the owner access the file and the files that SQLite creates next to it. */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}

/** The device and the inode of a file. Undefined if there is no file. */
function fileIdentity(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev} ${stat.ino}`;
}

function migrate(database: LibsqlDatabase, path: string, steps: readonly string[]): void {
  const version = database.schemaVersion;
  // defence: newer-files-are-refused
  if (version > steps.length)
    throw new StoreUnavailableError(
      `${path} was written by a newer version of Toolscript (its schema is ${version}, this version supports ${steps.length}). Install that version, or name another file.`,
    );
  if (version === steps.length) return;
  for (const step of steps.slice(version)) database.script(step);
  database.script(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${steps.length}`);
}

export async function callOutcome<Result>(call: () => Promise<Result>): Promise<Outcome<Result>> {
  try {
    return { value: await call() };
  } catch (error) {
    return { error };
  }
}

/** Sets the error as the outcome of all calls of the open transaction. */
function failFrom(group: Group, outcomes: Outcome<unknown>[], error: unknown): void {
  const { first = outcomes.length } = group;
  for (let index = first; index < outcomes.length; index += 1) outcomes[index] = { error };
  group.first = undefined;
}
