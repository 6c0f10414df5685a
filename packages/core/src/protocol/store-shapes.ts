import { z } from 'zod';
import { ToolscriptUsageError } from './errors.js';
import { InvalidCursorError } from './store-errors.js';

/** Ids of threads, turns, runs and approvals: 1 to 128 letters, digits, `_` and `-`. */
export const StoreIdSchema = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/u, '1 to 128 letters, digits, "_" and "-"');

/** A time in ms since 1970. */
export const TimeSchema = z.number().int();

/** Default number of entries on a page. */
export const DEFAULT_PAGE = 50;
export const MAX_PAGE = 500;

/** `after` is `next` of the previous page. */
export const PageQuerySchema = z.strictObject({
  after: z.string().optional(),
  limit: z.number().int().min(1).max(MAX_PAGE).optional(),
});

/** The parsed value. Throws a `ToolscriptUsageError` that names the invalid member and the problem. */
export function parseShape<Schema extends z.ZodType>(schema: Schema, value: unknown, name: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [name, ...(issue?.path ?? []).map(String)].join('.');
  throw new ToolscriptUsageError(`${path} is not valid: ${issue?.message ?? 'unknown problem'}`);
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
  throw new InvalidCursorError(
    `${JSON.stringify(cursor.slice(0, 100))} is not a cursor of this list. Start the list again without "after"`,
  );
}

/** Maximum length of searched text, in UTF-16 units. */
const MAX_SEARCHED = 20_000;

/**
 * Normalizes a text or a query for search: truncates it, ignores case, and replaces characters that some databases
 * cannot store.
 */
export function searchText(text: string): string {
  return text
    .slice(0, MAX_SEARCHED)
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\0\p{Surrogate}]/gu, '\ufffd');
}
