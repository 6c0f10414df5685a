import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { visible } from '../files/path-rules.js';
import { jsonBytes } from '../files/text.js';
import { permissionPath } from '../files/permission-path.js';
import { otherRoots, type Workspace } from '../files/workspace.js';
import { sha256 } from '../files/content-hash.js';
import { confirmMatches, type ConfirmedLine, type MatchedLine } from './confirm-matches.js';
import { byFolder } from './file-list.js';
import { compileGlob, GlobSet, globWork } from './glob.js';
import type { WorkSlices } from '../work-slices.js';
import { runRipgrep } from './ripgrep.js';
import { inScope, type SearchScope } from './search-scope.js';
import { SUCCESS } from '../success.js';

/** Maximum number of characters of a returned line. A longer line is cut around the match. */
const MAX_TEXT = 500;
/** Maximum number of characters of a returned match across lines. */
const MAX_MULTILINE_TEXT = 2000;
/** Maximum JSON bytes of all matches; `truncated` reports omitted matches. */
const MAX_RESULT_BYTES = 400_000;

const GrepFilesInput = z.object({
  pattern: z.string().min(1).max(10_000).describe('regular expression (Rust)'),
  include: z.string().max(1000).optional().describe("glob such as 'src/**/*.{js,ts}'"),
  exclude: z.array(z.string().min(1).max(1000)).max(100).default([]).describe('globs'),
  path: z.string().default('.'),
  limit: z.number().int().min(1).max(2000).default(100),
  matches: z.boolean().default(false).describe('also return matches[]'),
  context: z.number().int().min(0).max(20).default(0).describe('lines before and after each match'),
  ignoreCase: z.boolean().default(false),
  smartCase: z.boolean().default(false),
  literal: z.boolean().default(false).describe('pattern is plain text'),
  multiline: z.boolean().default(false),
  cwd: z.string().optional(),
});

const GrepFilesOutput = z.object({
  success: SUCCESS,
  content: z.string().describe('the paths, or `path:line:column: text`'),
  files: z.array(z.string()),
  matches: z
    .array(
      z.object({
        path: z.string(),
        line: z.number().int(),
        column: z.number().int(),
        endLine: z.number().int().optional(),
        text: z.string(),
        before: z.array(z.string()).optional(),
        after: z.array(z.string()).optional(),
      }),
    )
    .optional()
    .describe('with matches or context; line and column start at 1'),
  truncated: z.boolean(),
});

type GrepOptions = z.output<typeof GrepFilesInput>;
type Match = NonNullable<z.output<typeof GrepFilesOutput>['matches']>[number];
export type GrepFilesInput = z.input<typeof GrepFilesInput>;
export type GrepFilesResult = z.output<typeof GrepFilesOutput>;

export function grepFilesTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'grepFiles',
    description:
      'Finds files by content, line by line. Ignored (.gitignore), hidden and binary files are left out.' +
      otherRoots(workspace),
    input: GrepFilesInput,
    aliases: { workdir: 'cwd' },
    output: GrepFilesOutput,
    approval: 'never',
    effect: 'read',
    permissions: (input) => [`read:${permissionPath(workspace, input.path, input.cwd)}`],
    execute: (input, { signal }) => grepFiles(workspace, input, signal),
  });
}

/**
 * Searches file contents. Without a match, the result has no files. A bad pattern throws an error with ripgrep's own
 * message.
 */
export async function grepFiles(
  workspace: Workspace,
  input: GrepFilesInput,
  signal?: AbortSignal,
): Promise<GrepFilesResult> {
  const options = GrepFilesInput.parse(input);
  const include = options.include === undefined ? undefined : compileGlob(options.include);
  const search: Search = {
    options,
    include: include && new GlobSet([include]),
    names: include?.names ?? [],
    exclude: new GlobSet(options.exclude.map(compileGlob)),
    slices: globWork(signal),
    signal,
  };
  return inScope(workspace, { ...options, folderOnly: false }, async (scope, cwd) => {
    const found = await collect(search, scope, cwd);
    const { confirmed, rejected } = await confirmMatches(workspace, found.lines, {
      enough: options.limit + 1,
      context: options.context,
      signal,
    });
    return result(options, confirmed, { isCut: found.isCut, leftOut: rejected + found.passedOver });
  });
}

interface Search {
  readonly options: GrepOptions;
  readonly include: GlobSet | undefined;
  /** Names by which ripgrep itself can filter; empty if it cannot. */
  readonly names: readonly string[];
  readonly exclude: GlobSet;
  readonly slices: WorkSlices;
  readonly signal: AbortSignal | undefined;
}

interface CollectedLines {
  /** The lines, sorted by path. */
  readonly lines: readonly MatchedLine[];
  /** Whether the search stopped at the maximum number of collected lines. */
  readonly isCut: boolean;
  readonly passedOver: number;
}

/**
 * Searches with all threads of ripgrep, and then sorts the matches. With too many matches, their selection would be
 * random. In that case, an ordered search, which ends early, replaces the first one.
 */
async function collect(search: Search, scope: SearchScope, cwd: string): Promise<CollectedLines> {
  const quick = await runSearch(search, scope, cwd, false);
  if (quick.isCut) return runSearch(search, scope, cwd, true);
  return { ...quick, lines: quick.lines.toSorted((one, other) => byFolder(one.path, other.path)) };
}

async function runSearch(search: Search, scope: SearchScope, cwd: string, inOrder: boolean): Promise<CollectedLines> {
  const lines: MatchedLine[] = [];
  // Collects more than the limit, because some matches may not be confirmed.
  const enough = 2 * search.options.limit + 100;
  const { passedOver } = await runRipgrep({
    cwd,
    args: searchArguments(search, scope),
    separator: '\n',
    inOrder,
    signal: search.signal,
    onPiece: async (piece) => {
      const line = matchCandidate(piece, scope, search.options.multiline);
      if (line && (await isWanted(search, line))) lines.push(line);
      return lines.length === enough ? 'stop' : undefined;
    },
  });
  return { lines, isCut: lines.length === enough, passedOver };
}

async function isWanted({ include, exclude, slices }: Search, { inside, path }: MatchedLine): Promise<boolean> {
  if (include && !(await include.fit(inside, 'path', slices)) && !(await include.fit(path, 'path', slices)))
    return false;
  return !(await exclude.fit(inside, 'folders', slices)) && !(await exclude.fit(path, 'folders', slices));
}

function searchArguments({ options, names }: Search, scope: SearchScope): string[] {
  return [
    '--json',
    ...(showsMatches(options) ? [] : ['--max-count=1']),
    ...(options.ignoreCase ? ['--ignore-case'] : options.smartCase ? ['--smart-case'] : []),
    ...(options.literal ? ['--fixed-strings'] : []),
    // A multi-line search holds a whole file in memory.
    ...(options.multiline ? ['--multiline', '--max-filesize=10M'] : []),
    ...names.map((name) => `--type-add=wanted:${name}`),
    // The option `--type` includes hidden files again; `--glob` excludes them.
    ...(names.length > 0 ? ['--type=wanted', '--glob=!.*'] : []),
    '-e',
    options.pattern,
    '--',
    scope.argument,
  ];
}

/** Whether the result shows matches. Context requires them. */
function showsMatches({ matches, context }: GrepOptions): boolean {
  return matches || context > 0;
}

interface RipgrepText {
  readonly text?: string | undefined;
  readonly bytes?: string | undefined;
}

interface RipgrepMatch {
  readonly type: string;
  readonly data: {
    readonly path: RipgrepText;
    readonly lines: RipgrepText;
    readonly line_number: number;
    readonly absolute_offset: number;
    readonly submatches: readonly { readonly start: number }[];
  };
}

function matchCandidate(piece: string, scope: SearchScope, isMultiline: boolean): MatchedLine | undefined {
  if (!piece.startsWith('{"type":"match"')) return undefined;
  const { data } = JSON.parse(piece) as RipgrepMatch;
  // A script cannot write a name that is not UTF-8, so the match would be useless.
  if (data.path.text === undefined) return undefined;
  const bytes =
    data.lines.text === undefined ? Buffer.from(data.lines.bytes ?? '', 'base64') : Buffer.from(data.lines.text);
  const start = bytes.subarray(0, data.submatches[0]?.start ?? 0).toString('utf8').length;
  const text = bytes.toString('utf8').replace(/\r?\n$/, '');
  const column = start - (text.lastIndexOf('\n', start - 1) + 1) + 1;
  return {
    path: scope.display(data.path.text),
    inside: scope.inside(data.path.text),
    line: data.line_number,
    endLine: data.line_number + text.split('\n').length - 1,
    column,
    text: around(text, start, isMultiline ? MAX_MULTILINE_TEXT : MAX_TEXT),
    offset: data.absolute_offset,
    length: bytes.length,
    sha256: sha256(bytes),
  };
}

function result(
  options: GrepOptions,
  confirmed: readonly ConfirmedLine[],
  { isCut, leftOut }: { isCut: boolean; leftOut: number },
): GrepFilesResult {
  const matches = fitting(confirmed.slice(0, options.limit).map((line) => grepMatch(line, options)));
  const files = [...new Set(matches.map(({ path }) => path))];
  const truncated = isCut || confirmed.length > matches.length;
  const shown = showsMatches(options) ? matches.map(matchText) : files.map(visible);
  if (shown.length === 0) shown.push('No matches found.');
  if (truncated) shown.push('… there are more; raise limit or narrow the search');
  if (leftOut > 0)
    shown.push(
      `(matches left out: ${leftOut}, in very long lines, in files that changed during the search, or in files that tools cannot read)`,
    );
  const content = shown.join(options.context > 0 ? '\n--\n' : '\n');
  return { success: true, content, files, ...(showsMatches(options) ? { matches } : {}), truncated };
}

function grepMatch({ path, line, column, endLine, text, before, after }: ConfirmedLine, options: GrepOptions): Match {
  const shorten = (lines: readonly string[]): string[] => lines.map((one) => around(one, 0, MAX_TEXT));
  return {
    path,
    line,
    column,
    ...(options.multiline ? { endLine } : {}),
    text,
    ...(options.context > 0 ? { before: shorten(before), after: shorten(after) } : {}),
  };
}

/** The first matches that fit into one result, and at least one match. */
function fitting(matches: readonly Match[]): Match[] {
  const taken: Match[] = [];
  let bytes = 0;
  for (const match of matches) {
    bytes += jsonBytes(JSON.stringify(match));
    if (bytes > MAX_RESULT_BYTES && taken.length > 0) break;
    taken.push(match);
  }
  return taken;
}

/** Formats a match like grep: `path:line:column: text`, and `path-line- text` for context lines. */
function matchText({ path, line, column, endLine = line, text, before = [], after = [] }: Match): string {
  const name = visible(path);
  const beside = (lines: readonly string[], first: number): string[] =>
    lines.map((one, index) => `${name}-${first + index}- ${one}`);
  return [
    ...beside(before, line - before.length),
    `${name}:${line}:${column}: ${text}`,
    ...beside(after, endLine + 1),
  ].join('\n');
}

/** The line, or the part around the match of a long line. */
function around(line: string, start: number, most: number): string {
  if (line.length <= most) return line;
  const from = Math.max(0, Math.min(start - 100, line.length - most));
  const text = `${from > 0 ? '…' : ''}${wholeCharacters(line.slice(from, from + most))}${from + most < line.length ? '…' : ''}`;
  // A substring keeps its whole text in memory, and thousands of long lines may match.
  return Buffer.from(text).toString();
}

/** Removes the half character that a cut may leave at either end. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
}
