import { visible } from '../terminal/untrusted.js';

const MAX_LENGTH = 4_000;
const MAX_LINES = 60;

/** A script's value as pretty JSON, safe and cut; empty where there is none. */
export function shownValue(value: unknown, maxLines = MAX_LINES): string {
  if (value === undefined || value === null) return '';
  const json = JSON.stringify(value, undefined, 2);
  const lines = json.slice(0, MAX_LENGTH).split('\n').slice(0, maxLines);
  const shown = lines.join('\n');
  const left = json.length - shown.length;
  return visible(shown) + (left > 0 ? `\n[… ${left} more characters; --json prints them all]` : '');
}
