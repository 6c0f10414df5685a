import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../../files/content-hash.js';
import type { EntryState } from '../../files/entry-state.js';
import type { PrivateRepository } from './private-repository.js';
import { entryStats, type Snapshot } from './snapshot.js';

/** The permissions and the size of a file before a command. */
export interface FileFacts {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
}

/** A changed path, and its old content if it is known. */
export interface TreeChange {
  readonly path: string;
  readonly before: EntryState;
  readonly after: EntryState;
  readonly content: Buffer | undefined;
}

interface RawChange {
  readonly path: string;
  readonly modes: readonly [before: string, after: string];
  readonly ids: readonly [before: string, after: string];
}

/** Maximum bytes of file contents in memory at a time. */
const MAX_GROUP_BYTES = 32 * 1024 * 1024;

const [NONE, LINK] = ['000000', '120000'];

/** The changes from one snapshot to the next, in groups whose contents fit into memory. */
export async function* treeChanges(
  repository: PrivateRepository,
  before: Snapshot,
  after: Snapshot,
  factsBefore: ReadonlyMap<string, FileFacts>,
): AsyncGenerator<readonly TreeChange[]> {
  const skipped = new Set([...before.left.keys(), ...after.left.keys()]);
  const raw = (await rawChanges(repository, before, after)).filter(({ path }) => !skipped.has(path));
  const sizes = await blobSizes(repository, raw);
  const filtered = await filteredPaths(repository, raw);
  for (const group of groups(raw, sizes)) yield await readGroup(repository, group, { sizes, filtered, factsBefore });
  yield await Promise.all([...skipped].filter(hasChanged).map((path) => largeChange(repository, path, before)));

  function hasChanged(path: string): boolean {
    return before.left.get(path) !== after.left.get(path);
  }
}

async function rawChanges(repository: PrivateRepository, before: Snapshot, after: Snapshot): Promise<RawChange[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--relative', before.tree, after.tree];
  const words = await repository.list(args);
  const changes: RawChange[] = [];
  for (let at = 0; at + 1 < words.length; at += 2) {
    const [mode = '', newMode = '', id = '', newId = ''] = words[at]!.slice(1).split(' ');
    changes.push({ path: words[at + 1]!, modes: [mode, newMode], ids: [id, newId] });
  }
  return changes;
}

async function blobSizes(repository: PrivateRepository, raw: readonly RawChange[]): Promise<Map<string, number>> {
  const ids = [...new Set(raw.flatMap(objectIds))];
  const lines = (await repository.git(['cat-file', '--batch-check'], ids.map((id) => `${id}\n`).join(''))).toString();
  return new Map(
    lines.split('\n').map((line) => {
      const [id = '', , size] = line.split(' ');
      return [id, Number(size)];
    }),
  );
}

/** The paths whose content a filter of the user's repository converts, so that its objects do not have their bytes. */
async function filteredPaths(repository: PrivateRepository, raw: readonly RawChange[]): Promise<Set<string>> {
  const paths = raw.map(({ path }) => `${path}\0`).join('');
  const words = await repository.listOfUser(['check-attr', '-z', '--stdin', 'filter'], paths);
  const filtered = new Set<string>();
  for (let at = 0; at + 2 < words.length; at += 3)
    if (words[at + 2] !== 'unspecified' && words[at + 2] !== 'unset') filtered.add(words[at]!);
  return filtered;
}

function objectIds({ modes, ids }: RawChange): string[] {
  return ids.filter((_, index) => modes[index] !== NONE);
}

function groups(raw: readonly RawChange[], sizes: ReadonlyMap<string, number>): RawChange[][] {
  const made: RawChange[][] = [[]];
  let bytes = 0;
  for (const change of raw) {
    const size = objectIds(change).reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0);
    if (bytes > 0 && bytes + size > MAX_GROUP_BYTES) {
      made.push([]);
      bytes = 0;
    }
    made.at(-1)!.push(change);
    bytes += size;
  }
  return made;
}

interface GroupFacts {
  readonly sizes: ReadonlyMap<string, number>;
  readonly filtered: ReadonlySet<string>;
  readonly factsBefore: ReadonlyMap<string, FileFacts>;
}

async function readGroup(
  repository: PrivateRepository,
  group: readonly RawChange[],
  { sizes, filtered, factsBefore }: GroupFacts,
): Promise<TreeChange[]> {
  const ids = [...new Set(group.flatMap(objectIds))].filter((id) => (sizes.get(id) ?? Infinity) <= MAX_GROUP_BYTES);
  const read = await repository.blobs(ids);
  const contents = new Map(ids.map((id, index) => [id, read[index]!]));
  return group.map(({ path, modes, ids: [id, newId] }) => {
    const facts = factsBefore.get(path);
    const found = contents.get(id);
    // The user's repository may have converted the content, which then has another size.
    const isExact = found !== undefined && !filtered.has(path) && (modes[0] === LINK || facts?.size === found.length);
    const now = entryStats(repository, path);
    return {
      path,
      before: entryState(modes[0], found, facts),
      after: entryState(modes[1], contents.get(newId), now),
      content: isExact && modes[0] !== LINK ? found : undefined,
    };
  });
}

function entryState(
  gitMode: string,
  content: Buffer | undefined,
  facts: Pick<FileFacts, 'mode' | 'uid' | 'gid' | 'size'> | undefined,
): EntryState {
  if (gitMode === NONE) return { kind: 'absent' };
  if (gitMode === LINK) return { kind: 'link', target: content?.toString() ?? '' };
  const mode = (facts?.mode ?? (gitMode.endsWith('755') ? 0o755 : 0o644)) & 0o777;
  const owner = facts === undefined ? {} : { uid: facts.uid, gid: facts.gid };
  const bytes = content?.length ?? facts?.size ?? 0;
  return { kind: 'file', sha256: sha256(content ?? Buffer.from('too large')), bytes, mode, ...owner };
}

/** The change of a file that is too large to be stored. */
async function largeChange(repository: PrivateRepository, path: string, before: Snapshot): Promise<TreeChange> {
  const known = before.left.get(path);
  const bytes = Number(known?.split(' ')[1] ?? 0);
  const unread = sha256(Buffer.from(known ?? ''));
  return {
    path,
    // A file that was small before has its old content in the tree, but it is not worth another read.
    before: before.paths.includes(path) ? { kind: 'file', sha256: unread, bytes } : { kind: 'absent' },
    after: await stateOnDisk(repository, path),
    content: undefined,
  };
}

async function stateOnDisk(repository: PrivateRepository, path: string): Promise<EntryState> {
  const found = entryStats(repository, path);
  if (found?.isFile() !== true) return { kind: 'absent' };
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(join(repository.root, path))) hash.update(chunk as Buffer);
  const { size: bytes, mode, uid, gid } = found;
  return { kind: 'file', sha256: hash.digest('base64url'), bytes, mode: mode & 0o777, uid, gid };
}
