import type { ChangeBoard } from '@toolscript/core/protocol';
import type { Tables } from './tables/index.js';

export type TableName = 'documents' | 'threads' | 'runs' | 'log';

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
  /** Wakes those that wait for changes, of this process and of others. */
  readonly board: ChangeBoard;
  /** Called before another process's changes are announced. Without a key, anything may have changed. */
  onForeignChange: (key?: string) => void;
  call<Name extends TableName, Key extends keyof MethodsOf<Name> & string>(
    table: Name,
    method: Key,
    ...parameters: CallOf<Name, Key>['parameters']
  ): Promise<CallOf<Name, Key>['value']>;
  /** Announces a change that this process has stored, to all processes. */
  announce(key?: string): void;
  /** Idempotent. */
  close(): Promise<void>;
}

/** A message to the thread of a database. */
export interface CallMessage {
  readonly id: number;
  /** `version` shows whether another connection has written. */
  readonly table: TableName | 'database';
  readonly method: string;
  readonly parameters: readonly unknown[];
}

/** An error by its name: classes do not cross threads. */
export interface ErrorMessage {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
}

/** Id 0 answers the opening of the file. */
export type AnswerMessage =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorMessage };
