import type { LogLevel } from '../../protocol/index.js';

/**
 * What the guest's bridge says at the end of a segment, as one text; empty where it has nothing to say.
 *
 * It begins with the number of calls made so far, then `!` where the script has ended and `:` where it has
 * not, then a JSON object of what there is to say, on one line, then a line with the JSON texts of all calls'
 * arguments, one after the other. These stand apart because they are JSON already: written into the object
 * they would be escaped once more, and read twice. Everything a script can write is in JSON strings of the
 * object or in the second line, so the first line's beginning is the bridge's own.
 */
export interface Outbox {
  calls?: [index: number, name: string, line: number, column: number, length: number, problem?: string][];
  logs?: [LogLevel, string][];
  progress?: [string, 'info' | 'warn'][];
  output?: string;
  dropped?: [logs: number, progress: number];
  end?: [string, ...unknown[]];
}

const ENDED = '!'.charCodeAt(0);

/** `callsMade` of the whole run. */
export function peekOutbox(text: string): { callsMade: number; ended: boolean } {
  const mark = markOf(text);
  return { callsMade: Number(text.slice(0, mark)), ended: text.charCodeAt(mark) === ENDED };
}

/** `argsAt`: where the calls' arguments begin in the text. */
export function readOutbox(text: string): { outbox: Outbox; argsAt: number } {
  const start = markOf(text) + 1;
  const lineEnd = text.indexOf('\n', start);
  return { outbox: JSON.parse(text.slice(start, lineEnd)) as Outbox, argsAt: lineEnd + 1 };
}

function markOf(text: string): number {
  let at = 0;
  while (text.charCodeAt(at) >= 48 && text.charCodeAt(at) <= 57) at++;
  return at;
}
