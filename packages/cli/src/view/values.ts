import { visible, visibleLine } from '../terminal/untrusted.js';

const MAX_LENGTH = 4_000;
const MAX_LINES = 60;
const SHORT_LENGTH = 200;

/** A script's value as indented JSON, truncated and safe to print; empty for undefined and null. */
export function shownValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  const json = JSON.stringify(value, undefined, 2);
  const lines = json.slice(0, MAX_LENGTH).split('\n').slice(0, MAX_LINES);
  const shown = lines.join('\n');
  const left = json.length - shown.length;
  return visible(shown) + (left > 0 ? `\n[… ${left} more characters; --json prints them all]` : '');
}

/** The start of a value's JSON on one line. The model reads the whole value; the user sees only this start. */
export function shortValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  const json = JSON.stringify(value);
  return visibleLine(json.slice(0, SHORT_LENGTH)) + (json.length > SHORT_LENGTH ? ' …' : '');
}

/** Formats a duration, such as `12 ms`, `1.2 s` or `2 min 3 s`. */
export function shortDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Formats a count with its noun, such as `1 line` or `12 lines`. */
export function countWithNoun(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats the time since an event, such as `just now`, `3 hours ago` or `2 days ago`. */
export function ago(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${countWithNoun(minutes, 'minute')} ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${countWithNoun(hours, 'hour')} ago` : `${countWithNoun(Math.floor(hours / 24), 'day')} ago`;
}
