import { ToolscriptUsageError } from '@toolscript/core/protocol';
import { InvalidCursorError } from '@toolscript/core/ports';
import type { z } from 'zod';

/** The parsed value. Throws a `ToolscriptUsageError` that names the invalid member and the problem. */
export function parseShape<Schema extends z.ZodType>(schema: Schema, value: unknown, name: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [name, ...(issue?.path ?? []).map(String)].join('.');
  throw new ToolscriptUsageError('STORE_VALUE_INVALID', { path, problem: issue?.message ?? 'unknown problem' });
}

/** A cursor of a list ordered by position. `kind` separates the cursors of different lists. */
export function writeCursor(kind: string, position: number): string {
  return `${kind}.${position.toString(36)}`;
}

/** Reads a cursor. Throws an `InvalidCursorError` for any other text. */
export function readCursor(kind: string, cursor: string): number {
  const [found, digits = '', ...rest] = cursor.split('.');
  const position = Number.parseInt(digits, 36);
  const isOurs = found === kind && rest.length === 0 && /^[0-9a-z]{1,10}$/u.test(digits);
  if (isOurs && Number.isSafeInteger(position)) return position;
  throw new InvalidCursorError('CURSOR_INVALID', { cursor: JSON.stringify(cursor.slice(0, 100)) });
}
