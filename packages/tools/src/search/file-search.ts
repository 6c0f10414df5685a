import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import fuzzysort from 'fuzzysort';
import { z } from 'zod';
import { failureReason, throwIfAborted } from '../failure.js';
import { verifiedPlace } from '../files/open-verified.js';
import { permissionPath } from '../files/permission-path.js';
import { resolvePath, type Workspace } from '../files/workspace.js';
import { sortInSlices, type WorkSlices } from '../work-slices.js';
import { FileLists, type FileList, type PreparedTarget } from './file-list.js';
import { compileGlob, GlobSet, globWork, isGlob } from './glob.js';
import { inScope } from './search-scope.js';

const FileSearchInput = z.object({
  pattern: z.string().min(1).max(1000).describe("'usrctl' finds src/userController.ts; '*.test.ts' is a glob"),
  limit: z.number().int().min(1).max(2000).default(50),
  path: z.string().default('.'),
  exclude: z.array(z.string().min(1).max(1000)).max(100).default([]).describe('globs'),
});

const FileSearchOutput = z.object({
  files: z
    .array(
      z.object({
        path: z.string(),
        score: z.number().describe('0 to 1').meta({ deprecated: true }),
        indices: z.array(z.number().int()).describe('characters that matched').meta({ deprecated: true }),
      }),
    )
    .describe('best first'),
  truncated: z.boolean(),
});

export type FileSearchInput = z.input<typeof FileSearchInput>;
export type FileSearchResult = z.output<typeof FileSearchOutput>;
type FoundFile = FileSearchResult['files'][number];

export function fileSearchTool(workspace: Workspace): Tool {
  const lists = new FileLists(workspace);
  return defineTool({
    name: 'fileSearch',
    description: 'Finds files by fuzzy name or glob. Ignored (.gitignore) and hidden files are left out.',
    input: FileSearchInput,
    aliases: { searchDirectory: 'path' },
    output: FileSearchOutput,
    approval: 'never',
    effect: 'read',
    permissions: (input) => [`read:${permissionPath(workspace, input.path)}`],
    execute: (input, { signal }) => fileSearch(workspace, input, signal, lists),
  });
}

/**
 * Ranks the files of a folder by how well their paths match. Without a match, the result has no files. `lists` caches
 * the files between searches.
 */
export async function fileSearch(
  workspace: Workspace,
  input: FileSearchInput,
  signal?: AbortSignal,
  lists = new FileLists(workspace),
): Promise<FileSearchResult> {
  const options = FileSearchInput.parse(input);
  const excluded = new GlobSet(options.exclude.map(compileGlob));
  const wanted = isGlob(options.pattern) ? new GlobSet([compileGlob(options.pattern)]) : undefined;
  const slices = globWork(signal);
  return inScope(workspace, { path: options.path, folderOnly: true }, async (scope, cwd) => {
    const list = await lists.of(scope, cwd, signal);
    const ranked = wanted
      ? await byGlob(wanted, list.paths, excluded, scope.prefix, slices)
      : await byLikeness(
          options.pattern,
          await includedTargets(list, excluded, slices),
          scope.prefix,
          options.limit + 1,
          slices,
        );
    // defence: file-search-still-inside
    const files = await stillInside(workspace, ranked.slice(0, options.limit), signal);
    return { files, truncated: ranked.length > options.limit || list.isCut };
  });
}

type Targets = readonly PreparedTarget[];

/** The targets that no glob excludes. Both `dist` and `dist/**` exclude everything below the folder. */
async function includedTargets(list: FileList, excluded: GlobSet, slices: WorkSlices): Promise<Targets> {
  const targets = await list.targets(slices);
  if (excluded.isEmpty) return targets;
  const kept: PreparedTarget[] = [];
  for (const target of targets) if (!(await excluded.fit(target.target, 'folders', slices))) kept.push(target);
  return kept;
}

async function byGlob(
  wanted: GlobSet,
  paths: readonly string[],
  excluded: GlobSet,
  prefix: string,
  slices: WorkSlices,
): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for (const path of paths) {
    const fits =
      (await wanted.fit(path, 'path', slices)) || (prefix !== '' && (await wanted.fit(prefix + path, 'path', slices)));
    if (!fits || (await excluded.fit(path, 'folders', slices))) continue;
    found.push({ path: prefix + path, score: 1, indices: [] });
  }
  return found;
}

/**
 * Number of the shortest paths that are ranked first for a pattern of one character, because such a pattern fits most
 * paths.
 */
const MAX_FOR_A_LETTER = 50_000;
const shortest = new WeakMap<Targets, Targets>();

async function byLikeness(
  pattern: string,
  targets: Targets,
  prefix: string,
  limit: number,
  slices: WorkSlices,
): Promise<FoundFile[]> {
  if (pattern.length === 1 && targets.length > MAX_FOR_A_LETTER) {
    const found = await rank(pattern, await shortestTargets(targets, slices), prefix, limit, slices);
    if (found.length === limit) return found;
  }
  return rank(pattern, targets, prefix, limit, slices);
}

async function shortestTargets(targets: Targets, slices: WorkSlices): Promise<Targets> {
  let kept = shortest.get(targets);
  if (kept === undefined) {
    const sorted = await sortInSlices(targets, (one, other) => one.target.length - other.target.length, slices);
    kept = sorted.slice(0, MAX_FOR_A_LETTER);
    shortest.set(targets, kept);
  }
  return kept;
}

/**
 * Target time of one ranking step, in ms. The first step is small, because the cost of a target depends on the pattern.
 */
const STEP_MS = 3;

async function rank(
  pattern: string,
  targets: Targets,
  prefix: string,
  limit: number,
  slices: WorkSlices,
): Promise<FoundFile[]> {
  let best: {
    readonly score: number;
    readonly result: Fuzzysort.Result;
  }[] = [];
  let size = 1;
  for (let at = 0; at < targets.length;) {
    const startedAt = performance.now();
    const step = fuzzysort.go(pattern, targets.slice(at, at + size), { limit, threshold: 0 });
    if (step.length > 0) {
      const scored = step.map((result) => ({ score: result.score, result }));
      best = [...best, ...scored].sort((one, other) => other.score - one.score).slice(0, limit);
    }
    at += size;
    const took = performance.now() - startedAt;
    if (took > STEP_MS) size = Math.max(1, size >> 2);
    else if (took < STEP_MS / 3) size *= 2;
    // defence: file-search-ranking-turn
    await slices.pass();
  }
  return best.map(({ score, result: { target, indexes } }) => ({
    path: prefix + target,
    score: Math.round(score * 1000) / 1000,
    indices: [...indexes].sort((one, other) => one - other).map((index) => index + prefix.length),
  }));
}

/**
 * Omits files outside the workspace. The walk used paths, so a folder that another program swapped for a link meanwhile
 * would show names from outside.
 */
async function stillInside(
  workspace: Workspace,
  found: readonly FoundFile[],
  signal: AbortSignal | undefined,
): Promise<FoundFile[]> {
  const inside: FoundFile[] = [];
  for (const file of found) {
    throwIfAborted(signal);
    try {
      await verifiedPlace(workspace, resolvePath(workspace, file.path));
      inside.push(file);
    } catch (error) {
      if (failureReason(error) === 'not_permitted') inside.push(file);
    }
  }
  return inside;
}
