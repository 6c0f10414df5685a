import { textStart } from './cut-text.ts';
import { visible } from './visible.ts';

/** Formats a duration, such as `320 ms`, `4.2 s`, `3 min`, `2 h` or `5 d`. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms < 1 ? '<1' : Math.round(ms)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_500) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

/** The time since `at` as a short text, such as `3 min`; the text `now` below a minute. Times are in ms since 1970. */
export function age(at: number, now: number): string {
  const ms = Math.max(0, now - at);
  return ms < 60_000 ? 'now' : duration(ms).replace(' ', '\u202f');
}

/** Formats a number, such as `950` or `12.4k`. */
export function count(value: number): string {
  return value < 1000 ? String(value) : `${(value / 1000).toFixed(value < 100_000 ? 1 : 0)}k`;
}

/** Formats a number of bytes, such as `12 bytes`, `3.4 KB` or `1.2 MB`. */
export function bytes(size: number): string {
  if (size < 1000) return plural(size, 'byte');
  return size < 1_000_000 ? `${(size / 1000).toFixed(1)} KB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

/** Formats a price, such as `$0.03`; `<$0.01` below half a cent. */
export function dollars(value: number): string {
  return value > 0 && value < 0.005 ? '<$0.01' : `$${value.toFixed(2)}`;
}

/** Formats a number with its noun, such as `1 call` or `3 calls`. */
export function plural(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? '' : 's'}`;
}

/** One line about a call's arguments: the first text in them, in at most `length` characters. */
export function argumentSummary(input: unknown, length = 60): string {
  const text = (firstText(input) ?? '').slice(0, length * 4);
  const line = visible(text.replaceAll(/\s+/gu, ' ').trim());
  return line.length > length ? `${textStart(line, length - 1)}…` : line;
}

function firstText(input: unknown): string | undefined {
  if (typeof input === 'string') return input;
  if (typeof input === 'number') return String(input);
  if (Array.isArray(input)) return input.every((entry) => typeof entry === 'string') ? input.join(' ') : undefined;
  if (typeof input !== 'object' || input === null) return undefined;
  for (const value of Object.values(input)) {
    const found = typeof value === 'string' || Array.isArray(value) ? firstText(value) : undefined;
    if (found !== undefined && found !== '') return found;
  }
  return undefined;
}
