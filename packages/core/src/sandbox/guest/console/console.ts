// The guest's console, with the layout of Node.js: groups, counts, timers, placeholders and tables.
import { Map, Number, parseFloat, parseInt, String } from '../primordials.js';
import { nameMembers } from '../standard-library/define.js';
import type { Show } from './show.js';
import { consoleTable } from './table.js';

export type LogLevel = 'log' | 'info' | 'warn' | 'error' | 'debug';

export interface ConsoleHost {
  /** Emits a line if the script's log has room for it. */
  write(level: LogLevel, makeText: () => string): void;
  show: Show;
  showJson(value: unknown): string;
  /** The script's clock. */
  nowMs(): number;
  /** The script's frames at a call to `below`, each on a line of its own that begins with a line break. */
  framesBelow(below: unknown): string;
}

type Emit = (level: LogLevel, makeText: () => string) => void;
type Format = (values: readonly unknown[]) => string;
type Methods = Record<string, (...values: never[]) => void>;

const PLACEHOLDER = /%[sdifjoOc%]/g;
const LINE_STARTS = /^/gm;

export function makeConsole({ write, show, showJson, nowMs, framesBelow }: ConsoleHost): Methods {
  const groups = { indent: '' };
  const emit: Emit = (level, makeText) =>
    write(level, () => (groups.indent === '' ? makeText() : makeText().replace(LINE_STARTS, groups.indent)));
  const format: Format = (values) => formatValues(values, { show, showJson });
  return nameMembers({
    ...lineMethods(emit, format),
    ...valueMethods(emit, format, show, framesBelow),
    ...groupMethods(emit, format, groups),
    ...countMethods(emit),
    ...timeMethods(emit, format, nowMs),
  });
}

function lineMethods(emit: Emit, format: Format): Methods {
  const methods: Methods = {};
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const)
    methods[level] = (...values: unknown[]) => emit(level, () => format(values));
  return methods;
}

function valueMethods(emit: Emit, format: Format, show: Show, framesBelow: ConsoleHost['framesBelow']): Methods {
  const methods = {
    dir: (value: unknown) => emit('log', () => show(value, 0)),
    table: (data: unknown, columns: unknown) =>
      emit('log', () =>
        typeof data === 'object' && data !== null ? consoleTable(data, columns, show) : show(data, 0),
      ),
    assert: (condition: unknown, ...values: unknown[]) => {
      if (!condition) emit('error', () => titledText('Assertion failed', format(values)));
    },
    trace: (...values: unknown[]) => {
      const frames = framesBelow(methods.trace);
      emit('error', () => titledText('Trace', format(values)) + frames);
    },
  };
  return methods;
}

const titledText = (title: string, text: string): string => (text === '' ? title : title + ': ' + text);

function groupMethods(emit: Emit, format: Format, groups: { indent: string }): Methods {
  const open = (values: readonly unknown[]): void => {
    if (values.length > 0) emit('log', () => format(values));
    groups.indent += '  ';
  };
  return {
    group: (...values: unknown[]) => open(values),
    groupCollapsed: (...values: unknown[]) => open(values),
    groupEnd: () => {
      groups.indent = groups.indent.slice(2);
    },
  };
}

const labelText = (label: unknown): string => (label === undefined ? 'default' : String(label));

function countMethods(emit: Emit): Methods {
  const counts = new Map<string, number>();
  return {
    count: (label: unknown) => {
      const name = labelText(label);
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      emit('log', () => name + ': ' + count);
    },
    countReset: (label: unknown) => {
      counts.delete(labelText(label));
    },
  };
}

function timeMethods(emit: Emit, format: Format, nowMs: () => number): Methods {
  const starts = new Map<string, number>();
  const report = (method: string, label: unknown, values: readonly unknown[]): void => {
    const name = labelText(label);
    const started = starts.get(name);
    if (started === undefined) return emit('warn', () => 'No such label "' + name + '" for console.' + method + '()');
    const passed = name + ': ' + (nowMs() - started) + 'ms';
    emit('log', () => (values.length === 0 ? passed : passed + ' ' + format(values)));
  };
  return {
    time: (label: unknown) => {
      starts.set(labelText(label), nowMs());
    },
    timeLog: (label: unknown, ...values: unknown[]) => report('timeLog', label, values),
    timeEnd: (label: unknown) => {
      report('timeEnd', label, []);
      starts.delete(labelText(label));
    },
  };
}

/** Joins the values. If the first value is a string, its placeholders consume the values that follow. */
function formatValues(values: readonly unknown[], host: Pick<ConsoleHost, 'show' | 'showJson'>): string {
  const { show } = host;
  let used = 1;
  const [first] = values;
  const parts: string[] = [];
  if (values.length > 0)
    parts[0] =
      typeof first === 'string' && values.length > 1
        ? first.replace(PLACEHOLDER, (mark) => {
            if (mark === '%%') return '%';
            return used < values.length ? fill(mark, values[used++], host) : mark;
          })
        : show(first, 0);
  for (let index = used; index < values.length; index++) parts[parts.length] = show(values[index], 0);
  return parts.join(' ');
}

function fill(mark: string, value: unknown, { show, showJson }: Pick<ConsoleHost, 'show' | 'showJson'>): string {
  switch (mark) {
    case '%s':
      return show(value, 0);
    case '%c':
      return '';
    case '%d':
      return isPlain(value) ? String(Number(value)) : 'NaN';
    case '%i':
      return isPlain(value) ? String(parseInt(value as string, 10)) : 'NaN';
    case '%f':
      return isPlain(value) ? String(parseFloat(value as string)) : 'NaN';
    case '%j':
      return showJson(value);
    default:
      return show(value, 1);
  }
}

const isPlain = (value: unknown): boolean =>
  typeof value !== 'object' && typeof value !== 'symbol' && typeof value !== 'function';
