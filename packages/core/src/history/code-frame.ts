const LINES_AROUND = 2;
const MAX_LINE_LENGTH = 160;

/**
 * The lines around a place in a script, with a mark under it. Line and column are 1-based; undefined where
 * there is no such line.
 */
export function codeFrame(source: string | undefined, line: number | undefined, column: number | undefined): string | undefined {
  if (source === undefined || line === undefined) return undefined;
  const lines = source.split(/\r\n|\r|\n/u);
  if (lines[line - 1] === undefined) return undefined;
  const first = Math.max(1, line - LINES_AROUND);
  const last = Math.min(lines.length, line + LINES_AROUND);
  const gutter = String(last).length;
  const rows: string[] = [];
  for (let number = first; number <= last; number += 1) {
    const text = lines[number - 1]!;
    rows.push(`${number === line ? '>' : ' '} ${String(number).padStart(gutter)} | ${text.slice(0, MAX_LINE_LENGTH)}`);
    if (number === line && column !== undefined && column >= 1 && column <= MAX_LINE_LENGTH) {
      // Tabs stay tabs, so that the mark stands below its place whatever a tab's width is.
      rows.push(`  ${' '.repeat(gutter)} | ${text.slice(0, column - 1).replace(/[^\t]/gu, ' ')}^`);
    }
  }
  return rows.join('\n');
}
