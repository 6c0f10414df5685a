import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { visible } from '../files/path-rules.js';
import { permissionPath } from '../files/permission-path.js';
import type { Workspace } from '../files/workspace.js';
import { confirmMatches, sha256, type MatchedLine } from './confirm-matches.js';
import { compileGlob, type Glob } from './glob.js';
import { runRipgrep } from './ripgrep.js';
import { inScope, type SearchScope } from './search-scope.js';

/** Characters of a matching line that are returned; of a longer line, those around the match. */
const MAX_TEXT = 500;

const GrepFilesInput = z.object({
  pattern: z.string().min(1).max(10_000).describe('regular expression (Rust syntax), matched line by line'),
  include: z
    .string()
    .max(1000)
    .optional()
    .describe("glob for the files to search, such as '*.ts' or 'src/**/*.{js,ts}'"),
  path: z.string().default('.').describe('file or folder to search'),
  limit: z.number().int().min(1).max(2000).default(100).describe('files, or matches where they are asked for'),
  matches: z.boolean().default(false).describe('also return each matching line with its place'),
  ignoreCase: z.boolean().default(false),
  workdir: z.string().optional().describe('folder that path is relative to'),
});

const GrepFilesOutput = z.object({
  success: z.literal(true),
  content: z.string().describe('the paths, or `path:line:column: text` for each match'),
  files: z.array(z.string()).describe('files with a match, sorted by path'),
  matches: z
    .array(z.object({ path: z.string(), line: z.number().int(), column: z.number().int(), text: z.string() }))
    .optional()
    .describe('with matches: true; line and column of the first match in each line, from 1'),
  truncated: z.boolean().describe('there are more'),
});

export type GrepFilesInput = z.input<typeof GrepFilesInput>;
export type GrepFilesResult = z.output<typeof GrepFilesOutput>;

export function grepFilesTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'grepFiles',
    description:
      'Finds files whose content matches a regular expression. Ignored (.gitignore), hidden and binary files are left out. ' +
      'Returns files[]; with matches: true also matches[] with path, line, column and text.',
    input: GrepFilesInput,
    output: GrepFilesOutput,
    approval: 'never',
    effect: 'read',
    permissions: (input) => [`read:${permissionPath(workspace, input.path, input.workdir)}`],
    execute: (input, { signal }) => grepFiles(workspace, input, signal),
  });
}

/** Searches file contents. No match is a result with no files; a bad pattern throws with ripgrep's own words. */
export async function grepFiles(
  workspace: Workspace,
  input: GrepFilesInput,
  signal?: AbortSignal,
): Promise<GrepFilesResult> {
  const wish = GrepFilesInput.parse(input);
  const include = wish.include === undefined ? undefined : compileGlob(wish.include);
  return inScope(workspace, { ...wish, folderOnly: false }, async (scope, cwd) => {
    const found: MatchedLine[] = [];
    // Some may not be confirmed, so that more than the limit are collected.
    const enough = 2 * wish.limit + 100;
    const end = await runRipgrep({
      cwd,
      args: searchArguments(wish, include, scope),
      separator: '\n',
      signal,
      onPiece: (piece) => {
        const candidate = candidateOf(piece, scope);
        if (candidate && (!include || include.matches(candidate.inside) || include.matches(candidate.path)))
          found.push(candidate);
        return found.length === enough ? 'stop' : undefined;
      },
    });
    const { confirmed, rejected } = await confirmMatches(workspace, found, wish.limit + 1, signal);
    const truncated = confirmed.length > wish.limit || found.length === enough;
    return result(wish.matches, confirmed.slice(0, wish.limit), truncated, rejected + end.passedOver);
  });
}

function searchArguments(
  wish: z.output<typeof GrepFilesInput>,
  include: Glob | undefined,
  scope: SearchScope,
): string[] {
  const names = include?.names ?? [];
  return [
    '--json',
    ...(wish.matches ? [] : ['--max-count=1']),
    ...(wish.ignoreCase ? ['--ignore-case'] : []),
    ...names.map((name) => `--type-add=wanted:${name}`),
    // A type takes hidden files in again; this leaves them out.
    ...(names.length > 0 ? ['--type=wanted', '--glob=!.*'] : []),
    '-e',
    wish.pattern,
    '--',
    scope.argument,
  ];
}

interface RipgrepText {
  readonly text?: string;
  readonly bytes?: string;
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

function candidateOf(piece: string, scope: SearchScope): MatchedLine | undefined {
  if (!piece.startsWith('{"type":"match"')) return undefined;
  const { data } = JSON.parse(piece) as RipgrepMatch;
  // A name that is not UTF-8 cannot be written in a script; nothing could be done with it.
  if (data.path.text === undefined) return undefined;
  const bytes =
    data.lines.text === undefined ? Buffer.from(data.lines.bytes ?? '', 'base64') : Buffer.from(data.lines.text);
  const start = bytes.subarray(0, data.submatches[0]?.start ?? 0).toString('utf8').length;
  return {
    path: scope.display(data.path.text),
    inside: scope.inside(data.path.text),
    line: data.line_number,
    column: start + 1,
    text: around(bytes.toString('utf8').replace(/\r?\n$/, ''), start),
    offset: data.absolute_offset,
    length: bytes.length,
    sha256: sha256(bytes),
  };
}

function result(
  withMatches: boolean,
  confirmed: readonly MatchedLine[],
  truncated: boolean,
  leftOut: number,
): GrepFilesResult {
  const files = [...new Set(confirmed.map(({ path }) => path))];
  const matches = confirmed.map(({ path, line, column, text }) => ({ path, line, column, text }));
  const shown = withMatches
    ? matches.map((match) => `${visible(match.path)}:${match.line}:${match.column}: ${match.text}`)
    : files.map(visible);
  if (shown.length === 0) shown.push('No matches found.');
  if (truncated) shown.push('… there are more; raise limit or narrow the search');
  if (leftOut > 0)
    shown.push(
      `(left out: ${leftOut} in very long lines, in files that changed during the search, or in files that may not be read)`,
    );
  return { success: true, content: shown.join('\n'), files, ...(withMatches ? { matches } : {}), truncated };
}

/** The line, or the part of a long one that holds the match. */
function around(line: string, start: number): string {
  if (line.length <= MAX_TEXT) return line;
  const from = Math.max(0, Math.min(start - 100, line.length - MAX_TEXT));
  return `${from > 0 ? '…' : ''}${wholeCharacters(line.slice(from, from + MAX_TEXT))}${from + MAX_TEXT < line.length ? '…' : ''}`;
}

/** Without the half character that a cut may leave at either end. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
}
