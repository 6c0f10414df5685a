import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';
import type { Hunk, HunkLine, PatchOperation, UpdateOperation } from './operations.js';
import { patchProblem } from './problem.js';
import { PATCH_EXAMPLE, type PatchText } from './unwrap.js';

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';
const MOVE = '*** Move to: ';
/** Line numbers such as `@@ -1,3 +1,4 @@`, which models write by habit from unified diffs. This format ignores them. */
const LINE_NUMBERS = /^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/;
const HEADER = /^\*\*\* (Add|Delete|Update) File: (.*)$/;

/**
 * Reads a patch in the Codex format:
 *
 *     *** Begin Patch
 *     *** Add File: PATH          each line begins with +
 *     *** Delete File: PATH
 *     *** Update File: PATH       optionally followed by *** Move to: PATH
 *     @@ a line further up        optional, may be repeated
 *      kept line / -removed line / +added line
 *     *** End of File             optional: the lines above are the file's last
 *     *** End Patch
 *
 * White space around marker lines is ignored, and the first hunk of a file may lack its `@@`. Throws a ToolCallError
 * that names the line.
 */
export function parseCodexFormat({ lines, skipped }: PatchText): PatchOperation[] {
  return new CodexParser(lines, skipped).parse();
}

class CodexParser {
  readonly #lines: readonly string[];
  readonly #skippedLines: number;
  #at = 0;
  /**
   * The end of the last run of blank lines that belongs to a hunk. With this index, a long run is scanned only once.
   */
  #blanksUntil = 0;

  constructor(lines: readonly string[], skipped: number) {
    this.#lines = lines;
    this.#skippedLines = skipped;
  }

  parse(): PatchOperation[] {
    if (this.#lines.length === 0) throw failure('patch_syntax', `The patch is empty. Example:\n${PATCH_EXAMPLE}`);
    if (this.#marker(0) !== BEGIN) throw this.#problem(0, `the first line must be '${BEGIN}'`);
    const end = this.#lines.length - 1;
    if (end === 0 || this.#marker(end) !== END) throw this.#problem(end, `the last line must be '${END}'`);
    this.#at = 1;
    const operations: PatchOperation[] = [];
    while (this.#at < end) {
      if (this.#lines[this.#at]!.trim() === '') this.#at += 1;
      else operations.push(this.#operation(end));
    }
    if (operations.length === 0)
      throw failure(
        'patch_syntax',
        'The patch is empty: it names no file to add, delete or update. Name one in a line such as "*** Update File: PATH".',
      );
    return operations;
  }

  #operation(end: number): PatchOperation {
    const start = this.#at;
    const header = HEADER.exec(this.#marker(start));
    if (!header)
      throw this.#problem(start, "expected '*** Add File: PATH', '*** Delete File: PATH' or '*** Update File: PATH'");
    const place = { path: header[2]!.trim(), patchLine: this.#number(start) };
    if (place.path === '') throw this.#problem(start, 'the file name is missing; write it at the end of this line');
    this.#at += 1;
    if (header[1] === 'Add') return { kind: 'add', ...place, ...this.#addedContent(end) };
    if (header[1] === 'Delete') return { kind: 'delete', ...place };
    return this.#update(place, end);
  }

  #addedContent(end: number): { content: string; added: number } {
    const added: string[] = [];
    while (this.#at < end && !HEADER.test(this.#marker(this.#at)) && !this.#isBlankBeforeMarker(end)) {
      const line = this.#lines[this.#at]!;
      if (!line.startsWith('+')) throw this.#problem(this.#at, "every line of a new file must begin with '+'");
      added.push(line.slice(1));
      this.#at += 1;
    }
    return { content: added.map((line) => `${line}\n`).join(''), added: added.length };
  }

  #update(place: { path: string; patchLine: number }, end: number): UpdateOperation {
    const movedTo = this.#moveTarget(end);
    const hunks: Hunk[] = [];
    while (this.#at < end && !this.#lines[this.#at]!.startsWith('***') && !this.#isBlankBeforeMarker(end)) {
      hunks.push(this.#hunk(hunks.length + 1, end));
    }
    if (hunks.length === 0 && movedTo === undefined) {
      throw this.#problem(
        this.#at - 1,
        `the update of '${visible(place.path)}' has no hunk; add one that begins with @@`,
      );
    }
    return { kind: 'update', ...place, movedTo, hunks };
  }

  #moveTarget(end: number): string | undefined {
    const line = this.#at < end ? this.#lines[this.#at]!.trim() : '';
    if (!line.startsWith(MOVE.trimEnd())) return undefined;
    const path = line.slice(MOVE.trimEnd().length).trim();
    if (path === '') throw this.#problem(this.#at, 'the new file name is missing; write it at the end of this line');
    this.#at += 1;
    return path;
  }

  #hunk(number: number, end: number): Hunk {
    const start = this.#at;
    const contexts = this.#contexts(number, end);
    const lines: HunkLine[] = [];
    while (this.#at < end) {
      const line = this.#lines[this.#at]!;
      if (line.trimEnd() === END_OF_FILE) return this.#closeAtEnd({ number, start, contexts, lines });
      if (isMarker(line) || this.#isBlankBeforeMarker(end)) break;
      lines.push(this.#hunkLine(line));
      this.#at += 1;
    }
    if (lines.length === 0) throw this.#problem(start, `hunk ${number} is empty; add its lines, or remove it`);
    return { number, patchLine: this.#number(start), contexts, lines, atEnd: false };
  }

  #closeAtEnd({
    number,
    start,
    contexts,
    lines,
  }: {
    number: number;
    start: number;
    contexts: string[];
    lines: HunkLine[];
  }): Hunk {
    if (lines.length === 0)
      throw this.#problem(this.#at, `hunk ${number} has no lines before '${END_OF_FILE}'; add its lines, or remove it`);
    this.#at += 1;
    return { number, patchLine: this.#number(start), contexts, lines, atEnd: true };
  }

  #contexts(number: number, end: number): string[] {
    const contexts: string[] = [];
    const start = this.#at;
    while (this.#at < end && isHunkHeader(this.#lines[this.#at]!)) {
      const text = this.#lines[this.#at]!.slice(2).replace(/^ /, '');
      if (text.trim() !== '' && !LINE_NUMBERS.test(text)) contexts.push(text);
      this.#at += 1;
    }
    if (this.#at === start && number > 1)
      throw this.#problem(start, "a hunk must begin with '@@', or the line with ' ', '-' or '+'");
    return contexts;
  }

  #hunkLine(line: string): HunkLine {
    if (line === '') return { kind: 'keep', text: '' };
    const kind = ({ ' ': 'keep', '+': 'add', '-': 'remove' } as const)[line[0]!];
    if (!kind)
      throw this.#problem(this.#at, "every line of a hunk must begin with ' ' (kept), '-' (removed) or '+' (added)");
    return { kind, text: line.slice(1) };
  }

  /** Whether only blank lines precede the next file or the end of the patch. Such lines belong to no hunk. */
  #isBlankBeforeMarker(end: number): boolean {
    if (this.#at < this.#blanksUntil) return false;
    let at = this.#at;
    while (at < end && this.#lines[at] === '') at += 1;
    const isBefore = at > this.#at && (at === end || HEADER.test(this.#lines[at]!));
    if (!isBefore) this.#blanksUntil = at;
    return isBefore;
  }

  #marker(at: number): string {
    return this.#lines[at]!.trim();
  }

  #number(at: number): number {
    return at + 1 + this.#skippedLines;
  }

  #problem(at: number, what: string): Error {
    return patchProblem(this.#lines, this.#skippedLines, at, what);
  }
}

function isMarker(line: string): boolean {
  return line.startsWith('***') || isHunkHeader(line);
}

function isHunkHeader(line: string): boolean {
  return line === '@@' || line.startsWith('@@ ') || /^@@\s*$/.test(line);
}
