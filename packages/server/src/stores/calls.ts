import type { Tables } from './tables/index.js';

/** Messages between the thread of the program and the thread of the database. */

export type TableName = 'threads' | 'runs' | 'log';

export type MethodsOf<Name extends TableName> = {
  [
    Key in keyof Tables[Name] as Tables[Name][Key] extends (...parameters: never[]) => unknown ? Key : never
  ]: Tables[Name][Key];
};

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
