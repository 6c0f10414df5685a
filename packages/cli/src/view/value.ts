import { visible, visibleLine } from '../terminal/untrusted.js';

const MAX_LENGTH = 4_000;
const MAX_LINES = 60;
const SHORT_LENGTH = 200;

/** A script's value as pretty JSON, safe and truncated; empty if there is none. */
export function shownValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  const json = JSON.stringify(value, undefined, 2);
  const lines = json.slice(0, MAX_LENGTH).split('\n').slice(0, MAX_LINES);
  const shown = lines.join('\n');
  const left = json.length - shown.length;
  return visible(shown) + (left > 0 ? `\n[… ${left} more characters; --json prints them all]` : '');
}

/** A value in a line or two, because the model reads all of it. */
export function shortValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  const json = JSON.stringify(value);
  return visibleLine(json.slice(0, SHORT_LENGTH)) + (json.length > SHORT_LENGTH ? ' …' : '');
}
