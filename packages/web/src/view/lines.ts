import { deepCopy } from './copied.ts';

export interface Token {
  readonly text: string;
  /** A class of the stylesheet; empty for plain text. */
  readonly style: string;
}

/** The tokens of each line of a text. */
export type Lines = readonly (readonly Token[])[];

export function plainLines(source: string): Lines {
  return source.split('\n').map((text) => (text === '' ? [] : [{ text, style: '' }]));
}

/** The lines after a change. Unchanged lines are the same objects as before, so that they are not rendered again. */
export function keptLines(before: Lines, lines: Lines): Lines {
  return before.length === 0 ? lines : lines.map((line, index) => keptLine(before[index], line));
}

function keptLine(before: readonly Token[] | undefined, line: readonly Token[]): readonly Token[] {
  if (before === line) return line;
  const isSame =
    before?.length === line.length &&
    before.every(({ text, style }, index) => text === line[index]?.text && style === line[index]?.style);
  return isSame ? before : deepCopy(line);
}

/** Lines that are laid out and rendered together. */
export interface LinePart {
  /** The index of the part's first line. */
  readonly from: number;
  readonly lines: Lines;
}

const PART = 20;

export function lineParts(lines: Lines): readonly LinePart[] {
  const parts: LinePart[] = [];
  for (let from = 0; from < lines.length; from += PART) parts.push({ from, lines: lines.slice(from, from + PART) });
  return parts;
}

export function isSamePart(before: LinePart, after: LinePart): boolean {
  return (
    before.from === after.from &&
    before.lines.length === after.lines.length &&
    before.lines.every((line, index) => line === after.lines[index])
  );
}
