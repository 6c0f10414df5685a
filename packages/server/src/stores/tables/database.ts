import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreUnavailableError } from '@toolscript/core/protocol';
import Libsql from 'libsql';
import { BUSY_MS, sqliteCode } from './faults.js';
import { MIGRATIONS } from './migrations.js';

export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;
export type Parameters = Readonly<Record<string, Value>>;

/** "Tool" in ASCII: says whose database a file is. */
const APPLICATION_ID = 0x546f6f6c;

/** One connection to a file. Everything is synchronous: it belongs in a thread of its own. */
export class Database {
  readonly #connection: Libsql.Database;
  readonly #statements = new Map<string, Libsql.Statement>();
  #isFlushing = true;

  constructor(path: string) {
    makeFile(path);
    this.#connection = new Libsql(path);
    try {
      this.#connection.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
      this.#refuseForeign(path);
      this.#enterWal();
      this.#connection.exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL');
      this.write(() => migrate(this, path));
    } catch (error) {
      this.#connection.close();
      throw error;
    }
  }

  all(sql: string, parameters: Parameters = {}): Row[] {
    const statement = this.#statements.get(sql) ?? this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement.all(parameters) as Row[];
  }

  first(sql: string, parameters: Parameters = {}): Row | undefined {
    return this.all(sql, parameters)[0];
  }

  run(sql: string, parameters: Parameters = {}): void {
    this.all(sql, parameters);
  }

  /** Several statements, without parameters and results. */
  script(sql: string): void {
    this.#connection.exec(sql);
  }

  /** One transaction. `flush` (default): when it is done, a power cut does not undo it. */
  write<Value>(action: () => Value, { flush = true }: { readonly flush?: boolean } = {}): Value {
    if (flush !== this.#isFlushing) this.#connection.exec(`PRAGMA synchronous = ${flush ? 'FULL' : 'NORMAL'}`);
    this.#isFlushing = flush;
    return this.#transaction('BEGIN IMMEDIATE', action);
  }

  /** Everything that the action reads is of one moment. */
  read<Value>(action: () => Value): Value {
    return this.#transaction('BEGIN', action);
  }

  /** The next one of the positions that order threads, runs and approvals. */
  nextPosition(): number {
    return this.first('UPDATE counter SET value = value + 1 RETURNING value')!.value as number;
  }

  /** Another number where another connection has written since. */
  version(): number {
    return this.#pragma('data_version');
  }

  get schemaVersion(): number {
    return this.#pragma('user_version');
  }

  close(): void {
    this.#connection.close();
  }

  #transaction<Value>(begin: string, action: () => Value): Value {
    this.#connection.exec(begin);
    try {
      const value = action();
      this.#connection.exec('COMMIT');
      return value;
    } catch (error) {
      // Some faults have rolled it back already.
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK');
      throw error;
    }
  }

  /** Two processes that make the same file at once may find it locked here in spite of the busy timeout. */
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

  /** Looks for tables first: another process may be making them, and says whose they are in the same transaction. */
  #refuseForeign(path: string): void {
    const isEmpty = this.first('SELECT 1 FROM sqlite_master LIMIT 1') === undefined;
    // defence: foreign-files-are-refused, without it: return;
    if (isEmpty || this.#pragma('application_id') === APPLICATION_ID) return;
    throw new StoreUnavailableError(`${path} is a database of another program. Name another file.`);
  }

  #pragma(name: string): number {
    return Object.values(this.first(`PRAGMA ${name}`)!)[0] as number;
  }
}

/** For its owner alone; so are the files that SQLite makes beside it. */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}

function migrate(database: Database, path: string): void {
  const version = database.schemaVersion;
  // defence: newer-files-are-refused
  if (version > MIGRATIONS.length)
    throw new StoreUnavailableError(
      `${path} was written by a newer version of Toolscript (its schema is ${version}, this version knows ${MIGRATIONS.length}). Install that version, or name another file.`,
    );
  if (version === MIGRATIONS.length) return;
  for (const step of MIGRATIONS.slice(version)) database.script(step);
  database.script(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
}
