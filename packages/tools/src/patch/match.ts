import type { LineSearch } from './line-search.js';
import type { Hunk, HunkLine } from './operations.js';

/** The position of a hunk: its new lines replace the file lines from `first` up to but not including `end`. */
export interface Placement {
  readonly first: number;
  readonly end: number;
  /** The hunk's lines, without a trailing blank line that the file lacks. */
  readonly lines: readonly HunkLine[];
}

/** Places a hunk at or after the line `cursor`. Returns undefined if the hunk's lines are not found. */
export async function placeHunk(file: LineSearch, hunk: Hunk, cursor: number): Promise<Placement | undefined> {
  if (isOnlyAdditions(hunk)) return { first: file.length, end: file.length, lines: hunk.lines };
  for (const lines of [hunk.lines, withoutTrailingBlank(hunk.lines)]) {
    if (lines === undefined) continue;
    const wanted = oldLines(lines);
    const first = await file.seek(wanted, cursor, hunk.atEnd);
    if (first !== undefined) return { first, end: first + wanted.length, lines };
  }
  return undefined;
}

/**
 * Whether a hunk has only added lines. `placeHunk` appends such a hunk to the file, regardless of the position of its
 * contexts.
 */
export function isOnlyAdditions(hunk: Hunk): boolean {
  return hunk.lines.every(({ kind }) => kind === 'add');
}

export function oldLines(lines: readonly HunkLine[]): string[] {
  return lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
}

export function newLines(lines: readonly HunkLine[]): string[] {
  return lines.filter(({ kind }) => kind !== 'remove').map(({ text }) => text);
}

/**
 * The lines of a hunk without its last old line if that line is blank, because models often end a hunk with a blank
 * line that the file lacks. Undefined if the last old line is not blank, or if no other old lines remain to search.
 */
export function withoutTrailingBlank(lines: readonly HunkLine[]): readonly HunkLine[] | undefined {
  const index = lines.findLastIndex(({ kind }) => kind !== 'add');
  const blank = lines[index];
  if (!blank || blank.text.trim() !== '') return undefined;
  const before = lines.slice(0, index);
  if (!before.some(({ kind }) => kind !== 'add')) return undefined;
  const after = lines.slice(index + 1);
  if (blank.kind === 'keep')
    return after.length === 0 ? before : [...before, { kind: 'add', text: blank.text }, ...after];
  const rest = [...before, ...after];
  const lastNew = rest.findLastIndex(({ kind }) => kind !== 'remove');
  const drops = rest[lastNew]?.kind === 'add' && rest[lastNew].text.trim() === '';
  return drops ? rest.filter((_, at) => at !== lastNew) : rest;
}
