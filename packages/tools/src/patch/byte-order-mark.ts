import type { Hunk, HunkLine } from './operations.js';

const MARK = '\uFEFF';

export interface MarkedHunks {
  /** The hunks without the byte order mark. The file's own mark is removed before the search. */
  readonly hunks: readonly Hunk[];
  /** True: the patch has the mark on an old line and not on the new one. */
  readonly removesMark: boolean;
}

/**
 * Reads how a patch changes the byte order mark. The mark precedes the first line of the file, so only the first hunk
 * can contain it.
 */
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
