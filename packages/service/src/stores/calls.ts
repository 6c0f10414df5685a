import type { UsageMistake } from '@toolscript/core/protocol';
import type { Tables } from './tables/index.js';
import type { ChangeBoard } from './change-board.js';

export type TableName = 'documents' | 'threads' | 'runs' | 'log' | 'heaps';

export type MethodsOf<Name extends TableName> = {
  [
    Key in keyof Tables[Name] as Tables[Name][Key] extends (...parameters: never[]) => unknown ? Key : never
  ]: Tables[Name][Key];
};

export type CallOf<Name extends TableName, Key extends keyof MethodsOf<Name>> = MethodsOf<Name>[Key] extends (
  ...parameters: infer Parameters
) => Promise<infer Value>
  ? { parameters: Parameters; value: Value }
  : never;

/** Calls the tables of a database. */
export interface TableCalls {
  /** Wakes readers that wait for changes of this process or of other processes. */
  readonly board: ChangeBoard;
  /** Called before another process's changes are announced. Without a key, any run may have changed. */
  onForeignChange: (key?: string) => void;
  call<Name extends TableName, Key extends keyof MethodsOf<Name> & string>(
    table: Name,
    method: Key,
    ...parameters: CallOf<Name, Key>['parameters']
  ): Promise<CallOf<Name, Key>['value']>;
  /** Announces a change that this process has stored. Other processes get a notification, or poll the database. */
  announce(key?: string): void;
  /** Idempotent. */
  close(): Promise<void>;
}

/** A message to the worker thread of a database. */
export interface CallMessage {
  readonly id: number;
  /** The method `version` of `database` shows whether another connection has written. */
  readonly table: TableName | 'database';
  readonly method: string;
  readonly parameters: readonly unknown[];
}

/** An error with its name as text, because a message between threads does not keep the class of an error. */
export interface ErrorMessage {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** The mistake of a `ToolscriptUsageError`. */
  readonly mistake?: UsageMistake | undefined;
}

/** The answer with id 0 reports whether the file was opened. */
export type AnswerMessage =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorMessage };
