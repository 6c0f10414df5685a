import { failure } from '../failure.js';
import { quotePath } from '../files/path-rules.js';
import { fromFileLines, toFileLines, type FileLine, type FileLines } from './file-lines.js';
import { isOnlyAdditions, LineSearch, placeHunk, type Placement } from './match.js';
import { explainCandidates, explainMissingContext, explainMissingHunk } from './mismatch.js';
import type { Hunk, HunkLine } from './operations.js';
import { placeNumbered } from './place-numbered.js';

/** Hunks of one file. */
export interface FileHunks {
  readonly path: string;
  readonly hunks: readonly Hunk[];
}

export interface AppliedText {
  readonly text: string;
  readonly added: number;
  readonly removed: number;
}

/**
 * The text after every hunk of a file. Hunks are found from top to bottom: each behind the one before it.
 * Lines that a hunk keeps stay as the file has them, however loosely they matched. Throws a ToolCallError that
 * names the file, the hunk and the nearest lines.
 */
export function applyHunks(text: string, { path, hunks }: FileHunks): AppliedText {
  const file = toFileLines(text);
  const placements = new HunkPlacer(file, path).placeAll(hunks);
  const lines = hunks.flatMap((hunk) => hunk.lines);
  return {
    text: fromFileLines(
      { ...file, finalLineEnd: finalLineEnd(file, hunks, placements) },
      replaceLines(file, placements),
    ),
    added: lines.filter(({ kind }) => kind === 'add').length,
    removed: lines.filter(({ kind }) => kind === 'remove').length,
  };
}

/** Finds the hunks of one file, one after the other. */
class HunkPlacer {
  readonly #file: FileLines;
  readonly #path: string;
  readonly #search: LineSearch;
  /** The next hunk begins here or further down. */
  #cursor = 0;
  /** How far the last hunk was from where its numbers say. */
  #drift = 0;

  constructor(file: FileLines, path: string) {
    this.#file = file;
    this.#path = path;
    this.#search = new LineSearch(file.lines.map((line) => line.text));
  }

  placeAll(hunks: readonly Hunk[]): Placement[] {
    const placements = hunks.map((hunk) => this.#place(hunk));
    // Additions at the end may come before a hunk further up; sorting is stable.
    return placements.sort((one, other) => one.first - other.first);
  }

  #place(hunk: Hunk): Placement {
    this.#passContexts(hunk);
    const placement = hunk.numbered ? this.#numbered(hunk) : placeHunk(this.#search, hunk, this.#cursor);
    if (!placement) throw this.#missing(hunk);
    const start = hunk.numbered?.start;
    if (start !== undefined) this.#drift = placement.first - start;
    if (start !== undefined || !isOnlyAdditions(hunk)) this.#cursor = placement.end;
    return placement;
  }

  #numbered(hunk: Hunk): Placement | undefined {
    const found = placeNumbered(this.#search, hunk, hunk.numbered!, this.#cursor, this.#drift);
    if (found.status === 'placed') return found.placement;
    if (found.status === 'missing' || this.#search.exhausted) return undefined;
    const candidates = found.candidates.map((index) => index + 1);
    throw this.#failure(hunk, explainCandidates(candidates, hunk.numbered!.start), { candidates });
  }

  #passContexts(hunk: Hunk): void {
    for (const context of hunk.contexts) {
      const found = this.#search.seek([context], this.#cursor);
      if (found === undefined) throw this.#failure(hunk, explainMissingContext(this.#search, context, this.#cursor));
      this.#cursor = found + 1;
    }
  }

  #missing(hunk: Hunk): Error {
    return this.#failure(hunk, explainMissingHunk(this.#search, this.#file.lines, hunk, this.#cursor));
  }

  #failure(hunk: Hunk, explanation: string, details: object = {}): Error {
    const place = `Hunk ${hunk.number} of ${quotePath(this.#path)} (line ${hunk.patchLine} of the patch)`;
    const data = { path: this.#path, hunk: hunk.number, patchLine: hunk.patchLine, ...details };
    if (this.#search.exhausted)
      return failure('too_large', `${place} took too long to find; the file has too many lines that are alike.`, data);
    return failure('no_match', `${place} does not match. ${explanation}`, data);
  }
}

/** Only a hunk that reaches the end of the file may say how the file ends. */
function finalLineEnd(file: FileLines, hunks: readonly Hunk[], placements: readonly Placement[]): boolean {
  const said = hunks.at(-1)?.numbered?.finalLineEnd;
  return said === undefined || placements.at(-1)!.end !== file.lines.length ? file.finalLineEnd : said;
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
  for (const { kind, text, end } of lines) {
    const old = kind === 'add' ? undefined : file.lines[at++]!;
    lineEnd = old?.end || lineEnd;
    if (kind === 'keep') placed.push(old!);
    if (kind === 'add') placed.push({ text, end: end ?? lineEnd });
  }
  return placed;
}

/** `push(...lines)` would overflow the stack with a large file. */
function pushAll(result: FileLine[], lines: readonly FileLine[]): void {
  for (const line of lines) result.push(line);
}
