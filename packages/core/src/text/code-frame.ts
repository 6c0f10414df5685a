const LINES_AROUND = 2;
const WINDOW = 120;

/**
 * The lines around a 1-based position, numbered, with a `^` under the column:
 *
 * ```text
 *   1 | const a = 1;
 * > 2 | const b = ;
 *     |           ^
 *   3 | return a;
 * ```
 *
 * Long lines are cut to a window around the column. Control and bidi characters become U+FFFD, so that a frame is safe
 * to print. A position outside the source moves to the nearest position inside.
 */
export function codeFrame(source: string, line: number, column: number): string {
  const lines = source.split(/\r\n|\n|\r/);
  const marked = clamp(line, 1, lines.length);
  const markedColumn = clamp(column, 1, (lines[marked - 1] ?? '').length + 1);
  const window = windowAround(markedColumn, (lines[marked - 1] ?? '').length);
  const first = Math.max(1, marked - LINES_AROUND);
  const last = Math.min(lines.length, marked + LINES_AROUND);
  const digits = String(last).length;
  const rows: string[] = [];
  for (let number = first; number <= last; number++) {
    const sign = number === marked ? '>' : ' ';
    rows.push(`${sign} ${String(number).padStart(digits)} | ${cut(lines[number - 1] ?? '', window)}`.trimEnd());
    if (number === marked) rows.push(`  ${' '.repeat(digits)} | ${markUnder(markedColumn, window)}`);
  }
  return rows.join('\n');
}

/** Returns text that is safe to show on one line: control and bidi characters become U+FFFD, tabs become spaces. */
export function printable(text: string): string {
  return text
    .replace(/\t/g, ' ')
    .replace(/[\p{Cc}\p{Surrogate}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}

interface Window {
  readonly from: number;
  readonly to: number;
}

function windowAround(column: number, lineLength: number): Window {
  if (lineLength <= WINDOW) return { from: 0, to: WINDOW };
  const from = clamp(column - 1 - WINDOW / 2, 0, Math.max(0, lineLength - WINDOW));
  return { from, to: from + WINDOW };
}

function cut(text: string, { from, to }: Window): string {
  const head = from > 0 ? '…' : '';
  const tail = text.length > to ? '…' : '';
  return head + printable(text.slice(from, to)) + tail;
}

function markUnder(column: number, { from }: Window): string {
  return ' '.repeat(column - 1 - from + (from > 0 ? 1 : 0)) + '^';
}

function clamp(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.max(least, Math.min(Math.trunc(value), most)) : least;
}
