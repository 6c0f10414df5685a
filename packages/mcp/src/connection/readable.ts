import { INVISIBLE_CHARACTERS } from '@toolscript/core/protocol';

const HIDDEN = new RegExp(`[${INVISIBLE_CHARACTERS}]+`, 'gu');
const HIDDEN_IN_LINES = new RegExp(`(?![\\n\\t])[${INVISIBLE_CHARACTERS}]`, 'gu');

/** Text of a server on one line, without invisible characters, with at most `maxLength` characters. */
export function oneLine(text: string, maxLength: number): string {
  return cut(text.replace(HIDDEN, ' ').trim(), maxLength);
}

/** Text of a server without invisible characters except line breaks and tabs, with at most `maxLength` characters. */
export function plainLines(text: string, maxLength: number): string {
  return cut(text.replaceAll('\r\n', '\n').replace(HIDDEN_IN_LINES, ' ').trim(), maxLength);
}

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength).replace(/[\ud800-\udbff]$/u, '')}…`;
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
