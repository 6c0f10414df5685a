// The guest's console, as Node.js lays it out: what it remembers between lines (groups, counts, timers), placeholders and
// tables. How one value is shown, and what a line costs, is the bootstrap's, which takes `makeConsole` away again.
(function () {
  'use strict';

  const { Array, Error, JSON, Map, Math, Number, Object, Set, String } = globalThis;
  const { parseFloat, parseInt } = globalThis;
  const { isArray } = Array;
  const { stringify } = JSON;

  const MAX_ROWS = 100;
  const MAX_COLUMNS = 20;
  const PLACEHOLDER = /%[sdifjoOc%]/g;
  const LINE_STARTS = /^/gm;

  Object.defineProperty(globalThis, 'makeConsole', { value: makeConsole, configurable: true, enumerable: false });

  /**
   * `write(level, makeText)` makes a line, where there is still room for one. `show(value, depth)` gives a value's text:
   * at depth 0 texts are shown as they are. `nowMs` is the script's clock.
   */
  function makeConsole({ write, show, nowMs }) {
    const groups = { indent: '' };
    const say = (level, makeText) =>
      write(level, () => (groups.indent === '' ? makeText() : makeText().replace(LINE_STARTS, groups.indent)));
    const format = (values) => formatValues(values, show);
    return {
      ...lineMethods(say, format),
      ...valueMethods(say, format, show),
      ...groupMethods(say, format, groups),
      ...countMethods(say),
      ...timeMethods(say, format, nowMs),
    };
  }

  function lineMethods(say, format) {
    const methods = {};
    for (const level of ['log', 'info', 'warn', 'error', 'debug'])
      methods[level] = { [level]: (...values) => say(level, () => format(values)) }[level];
    return methods;
  }

  function valueMethods(say, format, show) {
    return {
      dir: (value) => say('log', () => show(value, 0)),
      table: (data, columns) =>
        say('log', () => (typeof data === 'object' && data !== null ? tableOf(data, columns, show) : show(data, 0))),
      assert: (condition, ...values) => {
        if (!condition) say('error', () => titled('Assertion failed', format(values)));
      },
      trace: function trace(...values) {
        const at = {};
        Error.captureStackTrace(at, trace);
        const frames = at.stack.indexOf('\n');
        say('error', () => titled('Trace', format(values)) + (frames < 0 ? '' : at.stack.slice(frames)));
      },
    };
  }

  const titled = (title, text) => (text === '' ? title : title + ': ' + text);

  function groupMethods(say, format, groups) {
    const group = (...values) => {
      if (values.length > 0) say('log', () => format(values));
      groups.indent += '  ';
    };
    return {
      group: { group }.group,
      groupCollapsed: { groupCollapsed: (...values) => group(...values) }.groupCollapsed,
      groupEnd: () => {
        groups.indent = groups.indent.slice(2);
      },
    };
  }

  const labelOf = (label) => (label === undefined ? 'default' : String(label));

  function countMethods(say) {
    const counts = new Map();
    return {
      count: (label) => {
        const name = labelOf(label);
        const count = (counts.get(name) ?? 0) + 1;
        counts.set(name, count);
        say('log', () => name + ': ' + count);
      },
      countReset: (label) => {
        counts.delete(labelOf(label));
      },
    };
  }

  function timeMethods(say, format, nowMs) {
    const starts = new Map();
    const tell = (method, label, values) => {
      const name = labelOf(label);
      const started = starts.get(name);
      if (started === undefined) return say('warn', () => 'No such label "' + name + '" for console.' + method + '()');
      const passed = name + ': ' + (nowMs() - started) + 'ms';
      say('log', () => (values.length === 0 ? passed : passed + ' ' + format(values)));
    };
    return {
      time: (label) => {
        starts.set(labelOf(label), nowMs());
      },
      timeLog: (label, ...values) => tell('timeLog', label, values),
      timeEnd: (label) => {
        tell('timeEnd', label, []);
        starts.delete(labelOf(label));
      },
    };
  }

  /** The values side by side; placeholders of the first, where it is a text, take the ones behind it. */
  function formatValues(values, show) {
    let used = 1;
    const [first] = values;
    const parts = [];
    if (values.length > 0)
      parts[0] =
        typeof first === 'string' && values.length > 1
          ? first.replace(PLACEHOLDER, (mark) => {
              if (mark === '%%') return '%';
              return used < values.length ? fill(mark, values[used++], show) : mark;
            })
          : show(first, 0);
    for (let index = used; index < values.length; index++) parts[parts.length] = show(values[index], 0);
    return parts.join(' ');
  }

  function fill(mark, value, show) {
    switch (mark) {
      case '%s':
        return show(value, 0);
      case '%c':
        return '';
      case '%d':
        return isPlain(value) ? String(Number(value)) : 'NaN';
      case '%i':
        return isPlain(value) ? String(parseInt(value, 10)) : 'NaN';
      case '%f':
        return isPlain(value) ? String(parseFloat(value)) : 'NaN';
      case '%j':
        return String(stringify(value));
      default:
        return show(value, 1);
    }
  }

  const isPlain = (value) => typeof value !== 'object' && typeof value !== 'symbol' && typeof value !== 'function';

  /** A line for each entry, a column for each member that any entry has; what is no object stands under "value". */
  function tableOf(data, wanted, show) {
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

  const isRecord = (value) => typeof value === 'object' && value !== null;

  function entriesOf(data) {
    if (data instanceof Map) return [...data];
    if (data instanceof Set) return [...data].map((value, index) => [index, value]);
    return isArray(data) ? data.map((value, index) => [index, value]) : Object.entries(data);
  }

  function columnsOf(rows) {
    const names = new Set();
    for (const [, value] of rows) if (isRecord(value)) for (const name of Object.keys(value)) names.add(name);
    return [...names].slice(0, MAX_COLUMNS);
  }

  /** On one line. */
  function cell(value, show) {
    const text = show(value, typeof value === 'string' ? 0 : 1);
    return text.includes('\n') ? stringify(text) : text;
  }

  function layOut(lines) {
    const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
    const rule = widths.map((width) => '-'.repeat(width)).join('-|-');
    const text = lines.map((line) =>
      line
        .map((part, column) => part.padEnd(widths[column]))
        .join(' | ')
        .trimEnd(),
    );
    return [text[0], rule, ...text.slice(1)].join('\n');
  }
})();
