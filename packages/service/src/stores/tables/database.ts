export type Value = string | number | Uint8Array | null;
export type Row = Readonly<Record<string, Value>>;
export type Parameters = Readonly<Record<string, Value>>;

/** One connection, with one transaction at a time. SQL names its parameters as `:name`. */
export interface Database {
  readonly dialect: Dialect;
  all(sql: string, parameters?: Parameters): Promise<Row[]>;
  first(sql: string, parameters?: Parameters): Promise<Row | undefined>;
  run(sql: string, parameters?: Parameters): Promise<void>;
  /** Inserts rows with a value for each column of the table, in order. */
  insert(table: string, rows: readonly (readonly Value[])[]): Promise<void>;
  /**
   * Runs one transaction. It may be repeated, so the action must have no effect outside the database. `flush` (default
   * true): a power failure after the call does not undo the transaction.
   */
  write<Result>(action: () => Promise<Result>, options?: { readonly flush?: boolean | undefined }): Promise<Result>;
  /** Runs reads that all see the same state. */
  read<Result>(action: () => Promise<Result>): Promise<Result>;
  /** Locks a name until the transaction ends. Other transactions wait at their `lock` with the same name. */
  lock(name: string): Promise<void>;
  /**
   * Runs statements with the parameter `:position`, the next position, which orders runs, approvals and the runs of the
   * log. A transaction that commits later has a higher position, so that a page never skips a row: other transactions
   * wait for it, so this is the last work of a transaction, in one round trip. Returns the first row of the last one.
   * `count` (default 1): the number of positions; the others are `:position1`, `:position2` and so on, in order.
   */
  place(statements: readonly string[], parameters: Parameters, count?: number): Promise<Row | undefined>;
  /** The next positions, in ascending order. */
  nextPositions(count: number): Promise<number[]>;
  /** A number that is higher than earlier ones. Transactions may commit in a different order. */
  nextNumber(): Promise<number>;
}

/** The SQL that differs between databases. */
export interface Dialect {
  /** Ends a SELECT, and locks its rows: other transactions cannot change or lock them until the transaction ends. */
  readonly forUpdate: string;
  /** Ends a SELECT of `candidate` rows like `forUpdate`, but skips rows that other transactions have locked. */
  readonly skipLocked: string;
  /** Follows a table name, and names the index to use if the database would not choose it. */
  readonly indexedBy: (index: string) => string;
  /** Compares texts of any length. An index may contain only the first 200 characters. */
  readonly isLongText: (column: string, parameter: string) => string;
  /** A text of any length as an expression of an index. Only equal texts have equal expressions. */
  readonly indexedText: (text: string) => string;
  readonly contains: (column: string, parameter: string) => string;
  /** Whether the column is in the parameter, a JSON array of texts. */
  readonly isOneOf: (column: string, parameter: string) => string;
  /** Whether all texts of the column, a JSON array, are in the other one. */
  readonly isSubset: (column: string, parameter: string) => string;
  /** The texts of both JSON arrays, each once, sorted, as a JSON array. */
  readonly union: (column: string, parameter: string) => string;
}
