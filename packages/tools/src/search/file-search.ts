import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import fuzzysort from 'fuzzysort';
import { z } from 'zod';
import { failureReason, throwIfAborted } from '../failure.js';
import { placeOf } from '../files/open-verified.js';
import { permissionPath } from '../files/permission-path.js';
import { resolvePath, type Workspace } from '../files/workspace.js';
import { FileLists, type FileList } from './file-list.js';
import { compileGlob, isGlob, matchesPathOrFolder } from './glob.js';
import { inScope } from './search-scope.js';

const FileSearchInput = z.object({
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe(
      "part of a name or path, typed loosely ('usrctl' finds src/userController.ts), or a glob such as '*.test.ts'",
    ),
  limit: z.number().int().min(1).max(2000).default(50),
  searchDirectory: z.string().default('.').describe('folder to search in'),
  exclude: z
    .array(z.string().min(1).max(1000))
    .max(100)
    .default([])
    .describe('globs of files and folders to leave out'),
});

const FileSearchOutput = z.object({
  files: z
    .array(
      z.object({
        path: z.string(),
        score: z.number().describe('1 is a perfect match, 0 hardly one'),
        indices: z.array(z.number().int()).describe('characters of path that matched'),
      }),
    )
    .describe('best first; for a glob by path'),
  truncated: z.boolean().describe('there are more'),
});

export type FileSearchInput = z.input<typeof FileSearchInput>;
export type FileSearchResult = z.output<typeof FileSearchOutput>;
type Found = FileSearchResult['files'][number];

export function fileSearchTool(workspace: Workspace): Tool {
  const lists = new FileLists(workspace);
  return defineTool({
    name: 'fileSearch',
    description:
      'Finds files by name: fuzzy, best first; a pattern with * ? or {a,b} is a glob instead. ' +
      'Ignored (.gitignore) and hidden files are left out. Returns files[] with path, score and indices.',
    input: FileSearchInput,
    output: FileSearchOutput,
    approval: 'never',
    effect: 'read',
    permissions: (input) => [`read:${permissionPath(workspace, input.searchDirectory)}`],
    execute: (input, { signal }) => fileSearch(workspace, input, signal, lists),
  });
}

/**
 * Ranks the files of a folder by how well their paths fit. Nothing found is a result with no files. `lists`
 * remembers them from search to search.
 */
export async function fileSearch(
  workspace: Workspace,
  input: FileSearchInput,
  signal?: AbortSignal,
  lists = new FileLists(workspace),
): Promise<FileSearchResult> {
  const wish = FileSearchInput.parse(input);
  const keep = keeper(wish.exclude);
  return inScope(workspace, { path: wish.searchDirectory, folderOnly: true }, async (scope, cwd) => {
    const list = await lists.of(scope, cwd, signal);
    const ranked = isGlob(wish.pattern)
      ? byGlob(wish.pattern, list.paths.filter(keep), scope.prefix)
      : byLikeness(wish.pattern, targetsOf(list, wish.exclude.length > 0, keep), scope.prefix, wish.limit + 1);
    const files = await stillInside(workspace, ranked.slice(0, wish.limit), signal);
    return { files, truncated: ranked.length > wish.limit || list.isCut };
  });
}

/** Globs of what to leave out; `dist` and `dist/**` leave out everything below the folder too. */
function keeper(exclude: readonly string[]): (path: string) => boolean {
  const globs = exclude.map((glob) => compileGlob(glob));
  return (path) => !globs.some((glob) => matchesPathOrFolder(glob, path));
}

function targetsOf(
  list: FileList,
  isFiltered: boolean,
  keep: (path: string) => boolean,
): ReturnType<FileList['targets']> {
  const targets = list.targets();
  return isFiltered ? targets.filter(({ target }) => keep(target)) : targets;
}

function byGlob(pattern: string, paths: readonly string[], prefix: string): Found[] {
  const glob = compileGlob(pattern);
  return paths
    .filter((path) => glob.matches(path) || (prefix !== '' && glob.matches(prefix + path)))
    .map((path) => ({ path: prefix + path, score: 1, indices: [] }));
}

/** Of so many files only the shortest paths are ranked for one letter, which fits most of them; others rank behind. */
const MOST_FOR_A_LETTER = 50_000;
const shortest = new WeakMap<ReturnType<FileList['targets']>, ReturnType<FileList['targets']>>();

function byLikeness(pattern: string, targets: ReturnType<FileList['targets']>, prefix: string, limit: number): Found[] {
  if (pattern.length === 1 && targets.length > MOST_FOR_A_LETTER) {
    const found = rank(pattern, shortestOf(targets), prefix, limit);
    if (found.length === limit) return found;
  }
  return rank(pattern, targets, prefix, limit);
}

function shortestOf(targets: ReturnType<FileList['targets']>): ReturnType<FileList['targets']> {
  let kept = shortest.get(targets);
  if (kept === undefined) {
    kept = targets.toSorted((one, other) => one.target.length - other.target.length).slice(0, MOST_FOR_A_LETTER);
    shortest.set(targets, kept);
  }
  return kept;
}

function rank(pattern: string, targets: ReturnType<FileList['targets']>, prefix: string, limit: number): Found[] {
  return fuzzysort.go(pattern, targets, { limit, threshold: 0 }).map(({ target, score, indexes }) => ({
    path: prefix + target,
    score: Math.round(score * 1000) / 1000,
    indices: [...indexes].sort((one, other) => one - other).map((index) => index + prefix.length),
  }));
}

/** The walk went by path; a folder swapped for a link meanwhile would show names from outside. */
async function stillInside(
  workspace: Workspace,
  found: readonly Found[],
  signal: AbortSignal | undefined,
): Promise<Found[]> {
  const inside: Found[] = [];
  for (const file of found) {
    throwIfAborted(signal);
    try {
      await placeOf(workspace, resolvePath(workspace, file.path));
      inside.push(file);
    } catch (error) {
      if (failureReason(error) === 'not_permitted') inside.push(file);
    }
  }
  return inside;
}
