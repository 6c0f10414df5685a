// The tables of the console.
import { isMap, isSet, mapEntries, mapSize, setSize, setValues, toText } from '../bridge/captured.js';
import { NOT_SHOWN } from '../bridge/stacks.js';
import { isArray, keys, Math, min, Set, stringify } from '../primordials.js';
import type { Show } from './show.js';

const MAX_ROWS = 100;
const MAX_COLUMNS = 20;

type Row = readonly [index: unknown, value: unknown];

/**
 * A table with a line for each entry. `wanted`: the names of the columns; if it is not an array, each member that any
 * entry has is a column. An entry that is not an object appears in the column "value".
 */
export function consoleTable(data: object, wanted: unknown, show: Show): string {
  const { rows, count } = tableRows(data);
  const names = isArray(wanted) ? take(wanted.length, MAX_COLUMNS, (at) => toText(wanted[at])) : tableColumns(rows);
  const hasValues = rows.some(([, value]) => memberNames(value) === undefined);
  const head = ['(index)', ...names, ...(hasValues ? ['value'] : [])];
  const lines = rows.map(([index, value]) => [
    cell(index, show),
    ...names.map((name) => memberCell(value, name, show)),
    ...(hasValues ? [memberNames(value) === undefined ? cell(value, show) : ''] : []),
  ]);
  const more = count > rows.length ? '\n… ' + (count - rows.length) + ' more' : '';
  return layOut([head, ...lines]) + more;
}

function tableRows(data: object): { rows: Row[]; count: number } {
  if (isMap(data)) {
    const entries = mapEntries(data);
    return takeRows(mapSize(data), () => entries.next().value as Row);
  }
  if (isSet(data)) {
    const values = setValues(data);
    return takeRows(setSize(data), (at) => [at, values.next().value]);
  }
  if (isArray(data)) return takeRows(data.length, (at) => [at, data[at]]);
  const names = keys(data);
  return takeRows(names.length, (at) => [names[at], (data as Record<string, unknown>)[names[at]!]]);
}

const takeRows = (count: number, read: (at: number) => Row): { rows: Row[]; count: number } => ({
  rows: take(count, MAX_ROWS, read),
  count,
});

function take<Item>(count: number, max: number, read: (at: number) => Item): Item[] {
  const items: Item[] = [];
  for (let at = 0; at < min(count, max); at++) items[at] = read(at);
  return items;
}

/** The names of a value's members; undefined if the value is not an object or throws when it is read. */
function memberNames(value: unknown): string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return keys(value);
  } catch {
    return undefined;
  }
}

function tableColumns(rows: readonly Row[]): string[] {
  const names = new Set<string>();
  for (const [, value] of rows)
    for (const name of memberNames(value) ?? []) if (names.size < MAX_COLUMNS) names.add(name);
  return [...names];
}

function memberCell(value: unknown, name: string, show: Show): string {
  try {
    if (typeof value !== 'object' || value === null || !(name in value)) return '';
    return cell((value as Record<string, unknown>)[name], show);
  } catch {
    return NOT_SHOWN;
  }
}

/** The text of a value on one line. */
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
