// The tables of the console.
import { isArray, keys, Map, Math, Object, Set, String, stringify } from '../primordials.js';
import type { Show } from './console.js';

const MAX_ROWS = 100;
const MAX_COLUMNS = 20;

type Entry = readonly [index: unknown, value: unknown];

/** A line for each entry, a column for each member that any entry has; a value that is no object has the column "value". */
export function tableOf(data: object, wanted: unknown, show: Show): string {
  const entries = entriesOf(data);
  const rows = entries.slice(0, MAX_ROWS);
  const names = isArray(wanted) ? wanted.map(String) : columnsOf(rows);
  const hasValues = rows.some(([, value]) => !isRecord(value));
  const head = ['(index)', ...names, ...(hasValues ? ['value'] : [])];
  const lines = rows.map(([index, value]) => [
    cell(index, show),
    ...names.map((name) => (isRecord(value) && name in value ? cell(value[name], show) : '')),
    ...(hasValues ? [isRecord(value) ? '' : cell(value, show)] : []),
  ]);
  const more = entries.length > rows.length ? '\n… ' + (entries.length - rows.length) + ' more' : '';
  return layOut([head, ...lines]) + more;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function entriesOf(data: object): readonly Entry[] {
  if (data instanceof Map) return [...data];
  if (data instanceof Set) return [...data].map((value, index): Entry => [index, value]);
  return isArray(data) ? data.map((value, index): Entry => [index, value]) : Object.entries(data);
}

function columnsOf(rows: readonly Entry[]): string[] {
  const names = new Set<string>();
  for (const [, value] of rows) if (isRecord(value)) for (const name of keys(value)) names.add(name);
  return [...names].slice(0, MAX_COLUMNS);
}

/** On one line. */
function cell(value: unknown, show: Show): string {
  const text = show(value, typeof value === 'string' ? 0 : 1);
  return text.includes('\n') ? stringify(text) : text;
}

function layOut(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const rule = widths.map((width) => '-'.repeat(width)).join('-|-');
  const text = lines.map((line) =>
    line
      .map((part, column) => part.padEnd(widths[column]!))
      .join(' | ')
      .trimEnd(),
  );
  return [text[0], rule, ...text.slice(1)].join('\n');
}
