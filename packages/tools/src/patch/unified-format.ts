import type { Hunk, HunkLine, PatchOperation } from './operations.js';
import { patchProblem, patchRefusal } from './problem.js';
import { isMissingSide, NO_FILE, readGitNames, readName, withoutPrefixes, type DiffNames } from './unified-paths.js';

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const BARE_HUNK = /^@@(?:$|[^@])/;
/** Lines of other programs that may separate two files, such as headings and the start of a mail or a commit. */
const HEADING = /^(?:Index: |={3,}\s*$|Only in |From |commit |diff |Binary files )/;
const UNUSUAL_FILE = /^(?:120000|160000)$/;
/**
 * Maximum number of characters of a header. It has at most two names of 4096 bytes, and git may write each byte as four
 * characters.
 */
const MAX_HEADER_CHARACTERS = 40_000;
const KINDS: Readonly<Record<string, HunkLine['kind']>> = { ' ': 'keep', '+': 'add', '-': 'remove' };

export interface ParsedDiff {
  readonly operations: readonly PatchOperation[];
  readonly notes: readonly string[];
}

/** Whether a text is a unified diff, well formed or not. */
export function isUnifiedDiff(lines: readonly string[]): boolean {
  const first = lines[0] ?? '';
  if (first.trim().startsWith('***')) return false;
  return /^(?:diff |--- |Index: |@@ -)/.test(first) || lines.some((_, at) => startsFile(lines, at));
}

/**
 * Parses unified diffs as git, `diff -u` and models write them. The counts in hunk headers determine the end of a hunk
 * if they are correct; otherwise the first characters of the lines determine it. `raw` keeps CR before LF. Throws a
 * ToolCallError that names the line.
 */
export function parseUnifiedDiff(raw: readonly string[], skipped: number): ParsedDiff {
  return new UnifiedParser(raw, skipped).parse();
}

/** The header lines before the first hunk of a file. */
interface FileHeader {
  readonly start: number;
  git?: DiffNames | undefined;
  sides?: DiffNames | undefined;
  renamedFrom?: string | undefined;
  renamedTo?: string | undefined;
  isNew?: boolean | undefined;
  isDeleted?: boolean | undefined;
  mode?: string | undefined;
}

interface BodyLine {
  readonly raw: string;
  readonly kind: HunkLine['kind'];
  /** True if the line `\ No newline at end of file` follows. */
  open: boolean;
}

interface HunkBody {
  readonly lines: readonly BodyLine[];
  readonly end: number;
}

class UnifiedParser {
  readonly #lines: readonly string[];
  readonly #raw: readonly string[];
  readonly #skippedLines: number;
  readonly #operations: PatchOperation[] = [];
  readonly #notes: string[] = [];
  #at = 0;

  constructor(raw: readonly string[], skipped: number) {
    this.#raw = raw;
    this.#lines = raw.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
    this.#skippedLines = skipped;
  }

  parse(): ParsedDiff {
    let prose = true;
    while (this.#at < this.#lines.length) {
      if (startsFile(this.#lines, this.#at)) {
        this.#operations.push(this.#file());
        prose = false;
        continue;
      }
      prose = this.#passLine(prose);
    }
    if (this.#operations.length === 0)
      throw this.#problem(0, "the patch names no file; add '--- ' and '+++ ' lines before its first hunk");
    return { operations: this.#operations, notes: this.#notes };
  }

  /** Skips a line that belongs to no file. Returns whether more such lines may follow. */
  #passLine(prose: boolean): boolean {
    const line = this.#lines[this.#at]!;
    this.#refuseBinary(line);
    if (BARE_HUNK.test(line))
      throw this.#problem(this.#at, "a hunk needs '--- ' and '+++ ' lines before it that name the file");
    const free = prose || HEADING.test(line) || isSignature(this.#lines, this.#at);
    if (!free && line.trim() !== '') {
      throw this.#problem(this.#at, "every line of a hunk must begin with ' ' (kept), '-' (removed) or '+' (added)");
    }
    this.#at += 1;
    return free;
  }

  #file(): PatchOperation {
    const header = this.#header();
    const isCarriedByCrlf = this.#raw[header.start]!.endsWith('\r');
    const hunks: Hunk[] = [];
    while (this.#at < this.#lines.length && this.#isHunkNext())
      hunks.push(this.#hunk(hunks.length + 1, isCarriedByCrlf));
    return this.#operation(header, hunks);
  }

  #header(): FileHeader {
    const header: FileHeader = { start: this.#at };
    const first = this.#lines[this.#at]!;
    if (first.startsWith('diff --git ')) {
      this.#refuseLong(first);
      const names = readGitNames(first.slice('diff --git '.length));
      if (names) header.git = withoutPrefixes(names);
      this.#at += 1;
      while (this.#at < this.#lines.length && this.#readExtendedHeader(header, this.#lines[this.#at]!)) this.#at += 1;
    }
    if (startsSides(this.#lines, this.#at)) {
      const [before, after] = [this.#lines[this.#at]!, this.#lines[this.#at + 1]!].map((line) => this.#side(line));
      header.sides = withoutPrefixes({ before: before!, after: after! });
      this.#at += 2;
    }
    return header;
  }

  #side(line: string): string {
    const text = line.slice('--- '.length);
    return isMissingSide(text) ? NO_FILE : this.#name(text);
  }

  /**
   * Reads a name. Blanks at the edges of a name are often lost when a patch is sent, so a name that seems to have them
   * is rejected.
   */
  #name(text: string): string {
    this.#refuseLong(text);
    const name = readName(text);
    if (name !== name.trim() && !text.startsWith('"'))
      throw this.#refusal('a name with blanks at its edges must be in double quotes');
    return name;
  }

  /** Reads one of git's lines about a whole file. Returns false for any other line. */
  #readExtendedHeader(header: FileHeader, line: string): boolean {
    this.#refuseBinary(line);
    const [, name, value = ''] =
      /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|index|similarity index|dissimilarity index) (.*)$/.exec(
        line,
      ) ?? [];
    if (name === undefined) return false;
    if (name.startsWith('copy'))
      throw this.#refusal('copies are not supported; add the new file with its whole content');
    if (name === 'rename from') header.renamedFrom = this.#name(value);
    if (name === 'rename to') header.renamedTo = this.#name(value);
    if (name === 'new file mode') header.isNew = true;
    if (name === 'deleted file mode') header.isDeleted = true;
    this.#readMode(header, name, value.trim());
    return true;
  }

  #readMode(header: FileHeader, name: string, value: string): void {
    const mode = name === 'index' ? /\s(\d{6})$/.exec(value)?.[1] : value;
    if (name.endsWith('mode') || name === 'index') {
      if (mode !== undefined && UNUSUAL_FILE.test(mode) && !header.isDeleted)
        throw this.#refusal(
          'a patch can neither create nor change links and submodules; remove this file from the patch',
        );
    }
    if (name === 'new mode' || (name === 'new file mode' && value !== '100644')) header.mode = value;
  }

  #operation(header: FileHeader, hunks: readonly Hunk[]): PatchOperation {
    const { start, git, sides, renamedFrom, renamedTo } = header;
    const patchLine = start + 1 + this.#skippedLines;
    if (sides?.before === NO_FILE && sides.after === NO_FILE)
      throw this.#problem(start, 'neither side names a file; name it after "--- " and "+++ "');
    if (sides && hunks.length === 0)
      throw this.#problem(this.#at - 1, 'the file has no hunk; add one that begins with @@');
    if (header.isNew || sides?.before === NO_FILE)
      return this.#noteMode(header, this.#add(this.#headerName(start, git?.after, sides?.after), patchLine, hunks));
    if (header.isDeleted || sides?.after === NO_FILE) {
      const path = this.#headerName(start, git?.before, sides?.before);
      return { kind: 'delete', path, patchLine, ...(hunks.length > 0 ? { hunks } : {}) };
    }
    if (renamedFrom !== undefined && renamedTo !== undefined) {
      const place = { path: renamedFrom, movedTo: renamedTo, mustBeNew: true, patchLine };
      return this.#noteMode(header, { kind: 'update', ...place, hunks });
    }
    if (hunks.length === 0 && header.mode === undefined)
      throw this.#problem(start, 'the patch does not change this file; remove the file from the patch, or add a hunk');
    const path = this.#headerName(start, sides?.after, git?.after);
    const before = sides?.before ?? git?.before;
    const oldName = before === undefined || before === path ? {} : { oldName: before };
    return this.#noteMode(header, { kind: 'update', path, ...oldName, patchLine, movedTo: undefined, hunks });
  }

  #headerName(start: number, ...names: readonly (string | undefined)[]): string {
    const name = names.find((candidate) => candidate !== undefined && candidate !== '' && candidate !== NO_FILE);
    if (name === undefined)
      throw this.#problem(start, 'the file name is missing or ambiguous; name the file after "--- " and "+++ "');
    return name;
  }

  #noteMode(header: FileHeader, operation: PatchOperation): PatchOperation {
    if (header.mode !== undefined)
      this.#notes.push(
        `The mode ${header.mode} of ${operation.path} is not set: applyPatch does not change permissions.`,
      );
    return operation;
  }

  #add(path: string, patchLine: number, hunks: readonly Hunk[]): PatchOperation {
    const lines = hunks.flatMap((hunk) => hunk.lines);
    const wrong = hunks.find((hunk) => hunk.lines.some(({ kind }) => kind !== 'add'));
    if (wrong) {
      throw this.#problem(
        wrong.patchLine - 1 - this.#skippedLines,
        "the file is new, so every line must begin with '+'",
      );
    }
    const isOpen = hunks.at(-1)?.numbered?.finalLineEnd === false;
    const content = lines
      .map(({ text, end = '\n' }, at) => text + (isOpen && at === lines.length - 1 ? '' : end))
      .join('');
    return { kind: 'add', path, patchLine, content, added: lines.length, mustBeNew: true };
  }

  /** Whether another hunk follows, possibly after blank lines. */
  #isHunkNext(): boolean {
    let at = this.#at;
    while (at < this.#lines.length && this.#lines[at]!.trim() === '') at += 1;
    if (!BARE_HUNK.test(this.#lines[at] ?? '')) return false;
    this.#at = at;
    return true;
  }

  #hunk(number: number, isCarriedByCrlf: boolean): Hunk {
    const start = this.#at;
    const header = this.#lines[start]!;
    const numbers = HUNK.exec(header);
    const [oldStart, oldCount, newCount] = numbers
      ? [numbers[1]!, numbers[2] ?? '1', numbers[4] ?? '1'].map(Number)
      : [];
    const body = this.#countedBody(start + 1, oldCount, newCount) ?? this.#openBody(start + 1);
    if (body.lines.length === 0) throw this.#problem(start, `hunk ${number} is empty; add its lines, or remove it`);
    this.#at = body.end;
    const hasOld = body.lines.some(({ kind }) => kind !== 'add');
    if (!hasOld && oldCount !== undefined && oldCount > 0)
      throw this.#problem(
        start,
        'the header counts old lines and the hunk has none; give the unchanged lines around the change',
      );
    return {
      number,
      patchLine: start + 1 + this.#skippedLines,
      contexts: numbers ? [] : headerContexts(header),
      lines: hunkLines(body.lines, isCarriedByCrlf),
      atEnd: false,
      numbered: {
        start: oldStart === undefined ? undefined : hasOld ? Math.max(oldStart - 1, 0) : oldStart,
        finalLineEnd: bodyFinalLineEnd(body.lines),
      },
    };
  }

  /**
   * The lines of a hunk according to the counts in its header; undefined if the following lines contradict the counts.
   */
  #countedBody(start: number, oldCount: number | undefined, newCount: number | undefined): HunkBody | undefined {
    if (oldCount === undefined || newCount === undefined) return undefined;
    const lines: BodyLine[] = [];
    let [old, now, at] = [0, 0, start];
    for (; at < this.#lines.length; at += 1) {
      if (this.#closesLine(at, lines)) continue;
      if (old >= oldCount && now >= newCount) break;
      const kind = this.#kind(at);
      if (kind === undefined) return undefined;
      if (kind !== 'add') old += 1;
      if (kind !== 'remove') now += 1;
      lines.push({ raw: this.#raw[at]!, kind, open: false });
    }
    return old === oldCount && now === newCount && this.#endsHunk(at) ? { lines, end: at } : undefined;
  }

  /** Lines up to the next header, without the blank lines before it. */
  #openBody(start: number): HunkBody {
    const lines: BodyLine[] = [];
    let at = start;
    let blanksUntil = start;
    for (; at < this.#lines.length; at += 1) {
      // Skips the known run of blank lines, so that a long run is scanned only once.
      if (at >= blanksUntil) {
        if (this.#endsHunk(at)) break;
        blanksUntil = this.#afterBlanks(at);
      }
      if (this.#closesLine(at, lines)) continue;
      const kind = this.#kind(at);
      if (kind === undefined)
        throw this.#problem(at, "every line of a hunk must begin with ' ' (kept), '-' (removed) or '+' (added)");
      lines.push({ raw: this.#raw[at]!, kind, open: false });
    }
    return { lines, end: at };
  }

  #closesLine(at: number, lines: readonly BodyLine[]): boolean {
    if (!this.#lines[at]!.startsWith('\\')) return false;
    if (lines.length > 0) lines.at(-1)!.open = true;
    return true;
  }

  /**
   * The kind of a line. An empty line counts as context, because editors and models drop the space of an empty context
   * line.
   */
  #kind(at: number): HunkLine['kind'] | undefined {
    const line = this.#lines[at]!;
    return line === '' ? 'keep' : KINDS[line[0]!];
  }

  #endsHunk(from: number): boolean {
    const at = this.#afterBlanks(from);
    if (at >= this.#lines.length) return true;
    const line = this.#lines[at]!;
    if (BARE_HUNK.test(line) || HEADING.test(line) || isSignature(this.#lines, at)) return true;
    return startsSides(this.#lines, at) && BARE_HUNK.test(this.#lines[at + 2] ?? '@@');
  }

  #afterBlanks(from: number): number {
    let at = from;
    while (at < this.#lines.length && this.#lines[at] === '') at += 1;
    return at;
  }

  #refuseLong(line: string): void {
    // defence: patch-names-cap
    if (line.length > MAX_HEADER_CHARACTERS) throw this.#refusal('a file name is too long; use a shorter one');
  }

  #refuseBinary(line: string): void {
    if (/^GIT binary patch\s*$/.test(line) || /^Binary files .* differ\s*$/.test(line))
      throw this.#refusal(
        'the patch changes a binary file, and only text can be patched; remove this file from the patch',
      );
  }

  #refusal(why: string): Error {
    return patchRefusal(this.#lines, this.#skippedLines, this.#at, why);
  }

  #problem(at: number, what: string): Error {
    return patchProblem(this.#lines, this.#skippedLines, at, what);
  }
}

function startsFile(lines: readonly string[], at: number): boolean {
  return lines[at]!.startsWith('diff --git ') || startsSides(lines, at);
}

function startsSides(lines: readonly string[], at: number): boolean {
  return (lines[at] ?? '').startsWith('--- ') && (lines[at + 1] ?? '').startsWith('+++ ');
}

/** Whether a mailed patch ends at this line: `-- `, then git's version. */
function isSignature(lines: readonly string[], at: number): boolean {
  return /^-- ?$/.test(lines[at]!) && /^(?:\d+\.\d.*)?$/.test(lines[at + 1] ?? '');
}

/**
 * The context after `@@` in a header without numbers, such as `@@ function name()`. The search continues after the
 * context line, as in the Codex format.
 */
function headerContexts(header: string): string[] {
  const text = header
    .slice(2)
    .replace(/@@\s*$/, '')
    .replace(/^ /, '');
  return /^[\s.…]*$/.test(text) ? [] : [text.trimEnd()];
}

function bodyFinalLineEnd(lines: readonly BodyLine[]): boolean | undefined {
  if (lines.some(({ open, kind }) => open && kind !== 'remove')) return false;
  return lines.some(({ open }) => open) ? true : undefined;
}

/** The lines of a hunk. A CR before LF belongs to the file if some lines of the hunk have it and the headers do not. */
function hunkLines(lines: readonly BodyLine[], isCarriedByCrlf: boolean): HunkLine[] {
  const showsEnds = !isCarriedByCrlf && lines.some(({ raw, open }) => !open && raw.endsWith('\r'));
  return lines.map(({ raw, kind, open }) => {
    const hasReturn = raw.endsWith('\r') && (isCarriedByCrlf || !open);
    const text = raw.slice(1, hasReturn ? -1 : undefined);
    return showsEnds && kind === 'add' ? { kind, text, end: hasReturn ? '\r\n' : '\n' } : { kind, text };
  });
}
