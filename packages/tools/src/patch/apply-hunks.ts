import { failure } from '../failure.js';
import { quotePath } from '../files/path-rules.js';
import { fromFileLines, toFileLines, type FileLine, type FileLines } from './file-lines.js';
import { isOnlyAdditions, LineSearch, placeHunk, type Placement } from './match.js';
import { explainMissingContext, explainMissingHunk } from './mismatch.js';
import type { Hunk, HunkLine, UpdateOperation } from './operations.js';

export interface AppliedText {
  readonly text: string;
  readonly added: number;
  readonly removed: number;
}

/**
 * The text after every hunk of an update. Hunks are found from top to bottom: each behind the one before it.
 * Lines that a hunk keeps stay as the file has them, however loosely they matched. Throws a ToolCallError that
 * names the file, the hunk and the nearest lines.
 */
export function applyHunks(text: string, operation: UpdateOperation): AppliedText {
  const file = toFileLines(text);
  const search = new LineSearch(file.lines.map((line) => line.text));
  const placements: Placement[] = [];
  let cursor = 0;
  for (const hunk of operation.hunks) {
    cursor = passContexts(search, hunk, cursor, operation);
    const placement = placeHunk(search, hunk, cursor);
    if (!placement) throw mismatch(search, hunk, operation, explainMissingHunk(search, file.lines, hunk, cursor));
    if (!isOnlyAdditions(hunk)) cursor = placement.end;
    placements.push(placement);
  }
  // Additions at the end may come before a hunk further up; sorting is stable.
  placements.sort((one, other) => one.first - other.first);
  const lines = operation.hunks.flatMap((hunk) => hunk.lines);
  return {
    text: fromFileLines(file, replaceLines(file, placements)),
    added: lines.filter(({ kind }) => kind === 'add').length,
    removed: lines.filter(({ kind }) => kind === 'remove').length,
  };
}

function passContexts(search: LineSearch, hunk: Hunk, cursor: number, operation: UpdateOperation): number {
  let at = cursor;
  for (const context of hunk.contexts) {
    const found = search.seek([context], at);
    if (found === undefined) throw mismatch(search, hunk, operation, explainMissingContext(search, context, at));
    at = found + 1;
  }
  return at;
}

function replaceLines(file: FileLines, placements: readonly Placement[]): FileLine[] {
  const result: FileLine[] = [];
  let at = 0;
  for (const { first, end, lines } of placements) {
    pushAll(result, file.lines.slice(at, first));
    pushAll(result, placedLines(file, first, lines));
    at = end;
  }
  pushAll(result, file.lines.slice(at));
  return result;
}

/** A new line ends like the line that it follows or replaces. */
function placedLines(file: FileLines, first: number, lines: readonly HunkLine[]): FileLine[] {
  const placed: FileLine[] = [];
  let at = first;
  let lineEnd = file.lines[first]?.end || file.lineEnd;
  for (const { kind, text } of lines) {
    const old = kind === 'add' ? undefined : file.lines[at++]!;
    lineEnd = old?.end || lineEnd;
    if (kind === 'keep') placed.push(old!);
    if (kind === 'add') placed.push({ text, end: lineEnd });
  }
  return placed;
}

function mismatch(search: LineSearch, hunk: Hunk, { path }: UpdateOperation, explanation: string): Error {
  const place = `Hunk ${hunk.number} of ${quotePath(path)} (line ${hunk.patchLine} of the patch)`;
  const data = { path, hunk: hunk.number, patchLine: hunk.patchLine };
  if (search.exhausted)
    return failure('too_large', `${place} took too long to find; the file has too many lines that are alike.`, data);
  return failure('no_match', `${place} does not match. ${explanation}`, data);
}

/** `push(...lines)` would overflow the stack with a large file. */
function pushAll(result: FileLine[], lines: readonly FileLine[]): void {
  for (const line of lines) result.push(line);
}
