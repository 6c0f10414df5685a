import { INVISIBLE_CHARACTERS } from '@toolscript/core/internal-data';

const HIDDEN = new RegExp(`[${INVISIBLE_CHARACTERS}]+`, 'gu');
const HIDDEN_IN_LINES = new RegExp(`(?![\\n\\t])[${INVISIBLE_CHARACTERS}]`, 'gu');

/**
 * A server's text on one line, with spaces in place of invisible characters. A text longer than `maxLength` characters
 * is cut there and ends with "…".
 */
export function oneLine(text: string, maxLength: number): string {
  return cut(text.replace(HIDDEN, ' ').trim(), maxLength);
}

/**
 * A server's text, with spaces in place of invisible characters other than line breaks and tabs. A text longer than
 * `maxLength` characters is cut there and ends with "…".
 */
export function plainLines(text: string, maxLength: number): string {
  return cut(text.replaceAll('\r\n', '\n').replace(HIDDEN_IN_LINES, ' ').trim(), maxLength);
}

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength).replace(/[\ud800-\udbff]$/u, '')}…`;
}

/** The message of any thrown value. */
export function thrownMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
