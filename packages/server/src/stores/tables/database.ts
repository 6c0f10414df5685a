export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;
export type Parameters<Kind = Value> = Readonly<Record<string, Kind>>;

/** One connection, with one transaction at a time. SQL names its parameters as `:name`. */
export interface Database {
  readonly dialect: Dialect;
  all(sql: string, parameters?: Parameters): Promise<Row[]>;
  first(sql: string, parameters?: Parameters): Promise<Row | undefined>;
  run(sql: string, parameters?: Parameters): Promise<void>;
  /** Inserts rows with a value for each column of the table, in order. */
  insert(table: string, rows: readonly (readonly Value[])[]): Promise<void>;
  /**
   * One transaction. It may be repeated, so the action has no effect outside the database. `flush` (default): after
   * it, a power failure does not undo it.
   */
  write<Result>(action: () => Promise<Result>, options?: { readonly flush?: boolean }): Promise<Result>;
  /** All reads of the action see the same state. */
  read<Result>(action: () => Promise<Result>): Promise<Result>;
  /** Until the transaction ends, no other one passes `lock` with the same name. */
  lock(name: string): Promise<void>;
  /**
   * The next position, in the order of threads, runs and approvals. A transaction that commits later has a higher one,
   * so that a page never skips a row.
   */
  nextPosition(): Promise<number>;
  /** A number that is higher than those before it. Transactions may commit in another order. */
  nextNumber(): Promise<number>;
}

/** The SQL that differs between databases. */
export interface Dialect {
  /** Ends a SELECT of rows: until the transaction ends, no other one changes or locks them. */
  readonly forUpdate: string;
  /** Ends a SELECT of `candidate` rows like `forUpdate`, without rows that other transactions have locked. */
  readonly skipLocked: string;
  /** After a table name: names the index to use, if the database does not find it. */
  readonly indexedBy: (index: string) => string;
  /** Equality of texts of any length. An index may have only the first 200 characters. */
  readonly isLongText: (column: string, parameter: string) => string;
  /** A text of any length as an expression of an index: it is equal for equal texts only. */
  readonly indexedText: (text: string) => string;
  readonly contains: (column: string, parameter: string) => string;
  /** The parameter is a JSON array of texts. */
  readonly isOneOf: (column: string, parameter: string) => string;
}
