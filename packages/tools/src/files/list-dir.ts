import { opendir } from 'node:fs/promises';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure, failureReason } from '../failure.js';
import { sortInSlices, WorkSlices } from '../work-slices.js';
import { ioFailure, openFolder, openSubfolder, using, type VerifiedFolder } from './open-verified.js';
import { quotePath, visible } from './path-rules.js';
import { permissionPath } from './permission-path.js';
import { displayPath, otherRoots, resolvePath, type Workspace } from './workspace.js';
import { SUCCESS } from '../success.js';

/** Maximum number of entries of a folder. A larger folder is listed partially. */
const MAX_FOLDER_ENTRIES = 100_000;

/** The cost of an entry, in steps. */
const STEPS_OF_AN_ENTRY = 20;

const ListDirInput = z.object({
  path: z.string().default('.'),
  offset: z.number().int().min(1).default(1),
  limit: z.number().int().min(1).max(2000).default(25),
  depth: z.number().int().min(1).max(50).default(2),
  cwd: z.string().optional(),
});

const ListDirOutput = z.object({
  success: SUCCESS,
  path: z.string(),
  content: z.string().describe('the tree: `/` marks folders, `@` links, `?` others'),
  entries: z.array(
    z.object({
      path: z.string(),
      name: z.string(),
      type: z.enum(['file', 'directory', 'symlink', 'other']),
      depth: z.number().int(),
      unreadable: z.boolean().optional().meta({ deprecated: true }),
    }),
  ),
  truncated: z.boolean(),
});

export type ListDirInput = z.input<typeof ListDirInput>;
export type ListDirResult = z.output<typeof ListDirOutput>;
type Entry = ListDirResult['entries'][number];

export function listDirTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'listDir',
    description: 'Lists a folder as a tree, hidden entries too; links are not followed.' + otherRoots(workspace),
    input: ListDirInput,
    aliases: { dirPath: 'path', workdir: 'cwd' },
    output: ListDirOutput,
    approval: 'never',
    effect: 'read',
    permissions: (input) => [`read:${permissionPath(workspace, input.path, input.cwd)}`],
    execute: (input, { signal }) => listDir(workspace, input, signal),
  });
}

/**
 * The entries of a folder and its subfolders, depth first, by name. Throws a ToolCallError if the folder cannot be
 * listed.
 */
export async function listDir(
  workspace: Workspace,
  input: ListDirInput = {},
  signal?: AbortSignal,
): Promise<ListDirResult> {
  const options = ListDirInput.parse(input);
  const path = resolvePath(workspace, options.path, options.cwd);
  return using(openFolder(workspace, path), async (folder) => {
    const walk = new Walk(workspace, options.depth, options.offset + options.limit, new WorkSlices({ signal }));
    await walk.visit(folder, folder.realPath, 1);
    if (options.offset > 1 && options.offset > walk.entries.length) {
      const total = walk.entries.length;
      throw failure(
        'out_of_range',
        `${quotePath(options.path)} has ${total} ${total === 1 ? 'entry' : 'entries'} within this depth; offset ${options.offset} is beyond the end. Use a smaller offset.`,
      );
    }
    const entries = walk.entries.slice(options.offset - 1, options.offset - 1 + options.limit);
    const truncated = walk.entries.length > options.offset - 1 + options.limit || walk.cut;
    const shown = displayPath(workspace, folder.realPath);
    return {
      success: true,
      path: shown,
      content: render(shown, entries, truncated, options.offset),
      entries,
      truncated,
    };
  });
}

/** Collects entries until the limit is reached. */
class Walk {
  readonly entries: Entry[] = [];
  cut = false;
  readonly #workspace: Workspace;
  readonly #depth: number;
  readonly #enough: number;
  readonly #slices: WorkSlices;

  constructor(workspace: Workspace, depth: number, enough: number, slices: WorkSlices) {
    this.#workspace = workspace;
    this.#depth = depth;
    this.#enough = enough;
    this.#slices = slices;
  }

  async visit(folder: VerifiedFolder, realPath: string, depth: number): Promise<void> {
    for (const found of await this.#read(folder, realPath)) {
      if (this.entries.length >= this.#enough) return;
      if (this.#slices.isDue(STEPS_OF_AN_ENTRY)) await this.#slices.pass();
      const place = join(realPath, found.name);
      const entry: Entry = {
        path: displayPath(this.#workspace, place),
        name: found.name,
        type: entryType(found),
        depth,
      };
      this.entries.push(entry);
      if (entry.type === 'directory' && depth < this.#depth) await this.#descend(folder, entry, place);
    }
  }

  async #descend(parent: VerifiedFolder, entry: Entry, realPath: string): Promise<void> {
    try {
      await using(openSubfolder(this.#workspace, parent, entry.name, entry.path), (folder) =>
        this.visit(folder, realPath, entry.depth + 1),
      );
    } catch (error) {
      if (failureReason(error) === 'aborted') throw error;
      entry.unreadable = true;
    }
  }

  async #read(folder: VerifiedFolder, realPath: string): Promise<Dirent[]> {
    const found: Dirent[] = [];
    try {
      for await (const entry of await opendir(folder.ownPath, { bufferSize: 256 })) {
        if (this.#slices.isDue(STEPS_OF_AN_ENTRY)) await this.#slices.pass();
        // defence: list-folder-cap
        if (found.length === MAX_FOLDER_ENTRIES) {
          this.cut = true;
          break;
        }
        found.push(entry);
      }
    } catch (error) {
      if (failureReason(error) !== undefined) throw error;
      throw ioFailure({ given: displayPath(this.#workspace, realPath), absolute: realPath }, error);
    }
    return sortInSlices(found, byName, this.#slices);
  }
}

function byName(one: Dirent, other: Dirent): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}

function entryType(entry: Dirent): Entry['type'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'symlink' : 'other';
}

const MARKS = { file: '', directory: '/', symlink: '@', other: '?' } as const;

function render(path: string, entries: readonly Entry[], truncated: boolean, offset: number): string {
  const lines = [`${visible(path)}/`];
  if (entries.length === 0) lines.push('  (empty)');
  for (const { name, type, depth, unreadable } of entries) {
    lines.push(`${'  '.repeat(depth)}${visible(name)}${MARKS[type]}${unreadable ? ' (cannot be read)' : ''}`);
  }
  if (truncated) lines.push(`… more entries; continue with offset ${offset + entries.length}`);
  return lines.join('\n');
}
