import type { Hunk, HunkLine } from './operations.js';

const MARK = '\uFEFF';

export interface MarkedHunks {
  /** Without the mark, so that they are found where the file's own mark was set aside. */
  readonly hunks: readonly Hunk[];
  /** The patch shows the mark on an old line and not on the new one. */
  readonly removesMark: boolean;
}

/** What a patch says of a file's byte order mark: it stands before the first line of the file, and so of the first hunk. */
export function readMark(hunks: readonly Hunk[]): MarkedHunks {
  const [first, ...others] = hunks;
  const oldLine = first?.lines.find(({ kind }) => kind !== 'add');
  const newLine = first?.lines.find(({ kind }) => kind !== 'remove');
  if (!first || ![oldLine, newLine].some(hasMark)) return { hunks, removesMark: false };
  const lines = first.lines.map((line) => (line === oldLine || line === newLine ? withoutMark(line) : line));
  return { hunks: [{ ...first, lines }, ...others], removesMark: hasMark(oldLine) && !hasMark(newLine) };
}

function hasMark(line: HunkLine | undefined): boolean {
  return line?.text.startsWith(MARK) === true;
}

function withoutMark(line: HunkLine): HunkLine {
  return hasMark(line) ? { ...line, text: line.text.slice(MARK.length) } : line;
}
