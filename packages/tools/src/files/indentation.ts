/*
 * The block of code around a line, found by indentation alone, so that it works for every language that
 * indents. An enclosing line is the nearest line above with less indentation; a block ends before the next
 * line that is not indented deeper than its first one, or with the line that closes it (`}`, `)`, `end`).
 */

export interface BlockOptions {
  /** How many enclosing levels to show; 0 shows all of them. */
  readonly maxLevels: number;
  /** Also the blocks beside it, at the same indentation. */
  readonly includeSiblings: boolean;
  /** Also comments, decorators and attributes directly above it. */
  readonly includeHeader: boolean;
}

/** A range of lines, 0-based, both ends included. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

const TAB_WIDTH = 4;
const CLOSER = /^\s*(?:[}\])]|<\/|(?:end|fi|done|esac|else|elif|elsif|except|finally|catch|rescue|ensure)\b)/;
const OPENER = /(?:[{([:]|\b(?:do|then|else|begin))\s*$/;
const HEADER = /^\s*(?:\/\/|\/\*|\*|#|@|--|;|%|"""|''')/;

/** The block around the line `anchor` (0-based, within `lines`). */
export function blockAround(lines: readonly string[], anchor: number, options: BlockOptions): LineRange {
  const indents = effectiveIndents(lines);
  const top = enclosingLine(lines, indents, anchor, options.maxLevels);
  const range = options.includeSiblings ? siblings(indents, top) : { first: top, last: blockEnd(lines, indents, top) };
  const first = options.includeHeader ? headerStart(lines, indents, range.first) : range.first;
  return trimBlank(lines, { first, last: Math.max(range.last, anchor) }, anchor);
}

/** At most `limit` lines of a range, grown from the anchor to both sides. */
export function limitAround(range: LineRange, anchor: number, limit: number): LineRange {
  let first = anchor;
  let last = anchor;
  while (last - first + 1 < limit && (first > range.first || last < range.last)) {
    if (first > range.first) first -= 1;
    if (last - first + 1 < limit && last < range.last) last += 1;
  }
  return { first, last };
}

/** Columns of leading white space; a blank line counts like the next line that is not blank. */
function effectiveIndents(lines: readonly string[]): number[] {
  const indents = lines.map(() => 0);
  let below = 0;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index]!;
    if (!isBlank(line)) below = indentOf(line);
    indents[index] = below;
  }
  return indents;
}

function indentOf(line: string): number {
  let columns = 0;
  for (const character of line) {
    if (character === ' ') columns += 1;
    else if (character === '\t') columns += TAB_WIDTH - (columns % TAB_WIDTH);
    else break;
  }
  return columns;
}

function enclosingLine(
  lines: readonly string[],
  indents: readonly number[],
  anchor: number,
  maxLevels: number,
): number {
  let top = CLOSER.test(lines[anchor]!) ? openingLine(lines, indents, anchor) : anchor;
  const levels = maxLevels === 0 ? Number.POSITIVE_INFINITY : maxLevels;
  for (let level = 0; level < levels; level += 1) {
    const above = lineAbove(lines, indents, top, (indent) => indent < indents[top]!);
    if (above === undefined) break;
    top = openingLine(lines, indents, above);
  }
  return top;
}

/** From a line that closes a block (`} else {`, `end`) to the line that opened it. */
function openingLine(lines: readonly string[], indents: readonly number[], line: number): number {
  let top = line;
  while (CLOSER.test(lines[top]!)) {
    const above = lineAbove(lines, indents, top, (indent) => indent <= indents[top]!);
    if (above === undefined || indents[above]! < indents[top]!) break;
    top = above;
  }
  return top;
}

function lineAbove(
  lines: readonly string[],
  indents: readonly number[],
  from: number,
  accept: (indent: number) => boolean,
): number | undefined {
  for (let index = from - 1; index >= 0; index -= 1) {
    if (!isBlank(lines[index]!) && accept(indents[index]!)) return index;
  }
  return undefined;
}

function blockEnd(lines: readonly string[], indents: readonly number[], top: number): number {
  for (let index = top + 1; index < lines.length; index += 1) {
    if (isBlank(lines[index]!) || indents[index]! > indents[top]!) continue;
    const closes = indents[index] === indents[top] && CLOSER.test(lines[index]!);
    if (!closes) return index - 1;
    if (!OPENER.test(lines[index]!)) return index;
  }
  return lines.length - 1;
}

function siblings(indents: readonly number[], top: number): LineRange {
  let first = top;
  let last = top;
  while (first > 0 && indents[first - 1]! >= indents[top]!) first -= 1;
  while (last + 1 < indents.length && indents[last + 1]! >= indents[top]!) last += 1;
  return { first, last };
}

function headerStart(lines: readonly string[], indents: readonly number[], first: number): number {
  let start = first;
  while (start > 0 && HEADER.test(lines[start - 1]!) && indents[start - 1]! >= indents[first]!) start -= 1;
  return start;
}

function trimBlank(lines: readonly string[], range: LineRange, anchor: number): LineRange {
  let { first, last } = range;
  while (first < anchor && isBlank(lines[first]!)) first += 1;
  while (last > anchor && isBlank(lines[last]!)) last -= 1;
  return { first, last };
}

function isBlank(line: string): boolean {
  return line.trim() === '';
}
