// The errors that a script catches by their classes.
import { create, defineProperty, Error, getOwnPropertyDescriptor, WeakMap } from '../primordials.js';
import { weakGet, weakSet } from './captured.js';

/** The bridge's own record of an error that it created. */
interface ErrorRecord {
  /** The index of the call that rejected with this error. */
  readonly call?: number | undefined;
  readonly code: string;
  /** The script that the error belongs to. */
  readonly cell?: number | undefined;
  /** The script's frame at that call, from the host. */
  readonly frames?: string | undefined;
}

/** The number of the running script in its program; undefined if its program has only one script. */
let currentCell: number | undefined;

export function beginCellErrors(cell: number): void {
  currentCell = cell;
}

/** Whether the bridge made the error for the running script. In another script, the index of its call means nothing. */
export const isOfThisScript = (error: unknown): boolean => weakGet(errorRecords, error)?.cell === currentCell;

type ErrorClass = new (message: string) => Error;

export const errorRecords = new WeakMap<object, ErrorRecord>();
/** The error classes, by code. */
export const errorClasses: Record<string, ErrorClass | undefined> = create(null) as never;

for (const code of [
  'ApprovalDeniedError',
  'ApprovalTimeoutError',
  'ToolNotFoundError',
  'ToolValidationError',
  'ToolExecutionError',
  'ToolBudgetExceededError',
  'SerializationError',
]) {
  const errorClass = { [code]: class extends Error {} }[code]!;
  defineHidden(errorClass.prototype, 'name', code);
  errorClasses[code] = errorClass;
}

/** Names of the members in which an error holds other errors. */
const HELD_ERRORS = ['cause', 'errors', 'error', 'suppressed'] as const;

/** The names of the error's own members that hold other errors. */
export function heldErrors(error: Error): string[] {
  const held: string[] = [];
  for (let index = 0; index < HELD_ERRORS.length; index++) {
    const name = HELD_ERRORS[index]!;
    if (getOwnPropertyDescriptor(error, name) !== undefined) held[held.length] = name;
  }
  return held;
}

export function makeError(code: string, message: string, data: unknown, record: ErrorRecord): Error {
  const errorClass = errorClasses[code] ?? errorClasses.ToolExecutionError!;
  const error = new errorClass(message);
  defineHidden(error, 'code', code);
  if (data !== undefined)
    defineProperty(error, 'data', { value: data, writable: true, configurable: true, enumerable: true });
  weakSet(errorRecords, error, currentCell === undefined ? record : { ...record, cell: currentCell });
  return error;
}

export function defineHidden(target: object, name: string | symbol, value: unknown): void {
  defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}
