import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { checkInTurns } from '../../work-slices.js';
import { CheckpointGap, type PrivateRepository } from './private-repository.js';

/** Maximum number of files that git does not ignore. In a larger workspace, changes of commands are not recorded. */
const MAX_FILES = 20_000;

/** Bounds of the files that a snapshot stores because the user's repository does not have them. */
export interface SnapshotBounds {
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
}

export interface Snapshot {
  readonly tree: string;
  /** The files that are too large to be stored, with what identifies their content. */
  readonly left: ReadonlyMap<string, string>;
  /** The tracked and other files, without ignored ones. */
  readonly paths: readonly string[];
}

/** The mode of a submodule in an index. */
const SUBMODULE = '160000';

/**
 * Stores the state of all files that git does not ignore as a tree of the private repository. Submodules, and
 * repositories inside of the workspace, are left out.
 */
export async function takeSnapshot(repository: PrivateRepository, bounds: SnapshotBounds): Promise<Snapshot> {
  const staged = await repository.list(['ls-files', '-z', '--stage']);
  const others = await repository.list(['ls-files', '-z', '--others', '--exclude-standard']);
  if (staged.length + others.length > MAX_FILES)
    throw new CheckpointGap(`the workspace has more than ${MAX_FILES.toLocaleString('en')} files`);
  const isSubmodule = (entry: string) => entry.startsWith(SUBMODULE);
  const submodules = new Set(staged.filter(isSubmodule).map(pathOfEntry));
  const modified = await repository.list(['ls-files', '-z', '--modified']);
  const changed = [
    ...modified.filter((path) => !submodules.has(path)),
    ...others.filter((path) => !path.endsWith('/')),
  ];
  const { small, left } = await separate(repository, changed, bounds);
  if (small.length > 0)
    await repository.git(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], joined(small));
  if (left.size > 0)
    await repository.git(['update-index', '--force-remove', '-z', '--stdin'], joined([...left.keys()]));
  const tree = (await repository.git(['write-tree', '--missing-ok'])).toString().trim();
  const tracked = staged.filter((entry) => !isSubmodule(entry)).map(pathOfEntry);
  return { tree, left, paths: [...new Set([...tracked, ...changed])] };
}

async function separate(repository: PrivateRepository, paths: readonly string[], bounds: SnapshotBounds) {
  const small: string[] = [];
  const left = new Map<string, string>();
  let total = 0;
  await checkInTurns([...new Set(paths)], (path) => {
    const found = entryStats(repository, path);
    const size = found?.isFile() === true ? found.size : 0;
    // defence: checkpoint-bounds
    if (size > bounds.maxFileBytes || total + size > bounds.maxTotalBytes) left.set(path, contentKey(found!));
    else small.push(path);
    total += left.has(path) ? 0 : size;
  });
  return { small, left };
}

export function entryStats(repository: PrivateRepository, path: string): Stats | undefined {
  try {
    return lstatSync(join(repository.root, path), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Changes with each usual change of a file's content. */
function contentKey({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`;
}

function pathOfEntry(entry: string): string {
  return entry.slice(entry.indexOf('\t') + 1);
}

function joined(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0`).join('');
}
