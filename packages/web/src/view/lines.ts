import { copied } from './copied.ts';

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

/** The lines after a change: those that are the same are those from before, so that they need not be rendered again. */
export function keptLines(before: Lines, lines: Lines): Lines {
  return before.length === 0 ? lines : lines.map((line, index) => keptLine(before[index] ?? [], line));
}

function keptLine(before: readonly Token[], line: readonly Token[]): readonly Token[] {
  const isSame =
    before.length === line.length &&
    before.every(({ text, style }, index) => text === line[index]?.text && style === line[index]?.style);
  return isSame ? before : copied(line);
}
