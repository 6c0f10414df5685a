import { opendir } from 'node:fs/promises';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure, failureReason } from '../failure.js';
import { ignoredFolders } from './ignored-folders.js';
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
    const ignored = options.depth === 1 ? [] : await ignoredFolders(folder.realPath);
    const bounds = { depth: options.depth, enough: options.offset + options.limit, ignored: new Set(ignored) };
    const walk = new Walk(workspace, bounds, new WorkSlices({ signal }));
    await walk.visit(folder, folder.realPath, 1);
    if (options.offset > 1 && options.offset > walk.entries.length) {
      const total = walk.entries.length;
      throw failure(
        'out_of_range',
        `${quotePath(options.path)} has ${total} ${total === 1 ? 'entry' : 'entries'} within this depth; offset ${options.offset} is beyond the end. Use a smaller offset.`,
      );
    }
    const entries: Entry[] = walk.entries.slice(options.offset - 1, options.offset - 1 + options.limit);
    const truncated = walk.entries.length > options.offset - 1 + options.limit || walk.cut;
    const shown = displayPath(workspace, folder.realPath);
    return {
      success: true,
      path: shown,
      content: render(shown, entries, { truncated, offset: options.offset, ignored: walk.closed }),
      entries,
      truncated,
    };
  });
}

interface WalkBounds {
  readonly depth: number;
  /** The number of entries after which the walk ends. */
  readonly enough: number;
  /** The real paths of the folders that git ignores. */
  readonly ignored: ReadonlySet<string>;
}

/** Collects entries until the limit is reached. */
class Walk {
  readonly entries: Entry[] = [];
  cut = false;
  /** The folders that git ignores. Their entries are not listed. */
  readonly closed = new Set<Entry>();
  readonly #workspace: Workspace;
  readonly #bounds: WalkBounds;
  readonly #slices: WorkSlices;

  constructor(workspace: Workspace, bounds: WalkBounds, slices: WorkSlices) {
    this.#workspace = workspace;
    this.#bounds = bounds;
    this.#slices = slices;
  }

  async visit(folder: VerifiedFolder, realPath: string, depth: number): Promise<void> {
    for (const found of await this.#read(folder, realPath)) {
      if (this.entries.length >= this.#bounds.enough) return;
      if (this.#slices.isDue(STEPS_OF_AN_ENTRY)) await this.#slices.pass();
      const place = join(realPath, found.name);
      const entry: Entry = {
        path: displayPath(this.#workspace, place),
        name: found.name,
        type: entryType(found),
        depth,
      };
      this.entries.push(entry);
      if (entry.type !== 'directory' || depth >= this.#bounds.depth) continue;
      if (this.#bounds.ignored.has(place)) this.closed.add(entry);
      else await this.#descend(folder, entry, place);
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

interface RenderOptions {
  readonly truncated: boolean;
  readonly offset: number;
  readonly ignored: ReadonlySet<Entry>;
}

function render(path: string, entries: readonly Entry[], { truncated, offset, ignored }: RenderOptions): string {
  const lines = [`${visible(path)}/`];
  if (entries.length === 0) lines.push('  (empty)');
  for (const entry of entries) {
    const { name, type, depth, unreadable } = entry;
    const note = unreadable ? ' (cannot be read)' : ignored.has(entry) ? ' (ignored by git)' : '';
    lines.push(`${'  '.repeat(depth)}${visible(name)}${MARKS[type]}${note}`);
  }
  if (truncated) lines.push(`… more entries; continue with offset ${offset + entries.length}`);
  return lines.join('\n');
}
