import { isUtf8 } from 'node:buffer';
import { dirname } from 'node:path';
import { failure, throwIfAborted } from '../failure.js';
import { sha256 } from '../files/content-hash.js';
import type { FileChange } from '../files/file-change.js';
import { openFile, using } from '../files/open-verified.js';
import { quotePath } from '../files/path-rules.js';
import { findEntryTarget, findWriteTarget, type WriteTarget } from '../files/target.js';
import { checkEncodable, checkText, readAll } from '../files/text.js';
import { displayPath, resolvePath, type Workspace, type WorkspacePath } from '../files/workspace.js';
import { checkInTurns, WorkSlices } from '../work-slices.js';
import { applyHunks, type FileHunks } from './apply-hunks.js';
import {
  operationPaths,
  type AddOperation,
  type DeleteOperation,
  type PatchOperation,
  type UpdateOperation,
} from './operations.js';

/** The effect of one operation on one file. */
export interface PatchChange {
  path: string;
  kind: 'add' | 'delete' | 'update';
  movedTo?: string | undefined;
  /** Number of lines. */
  added: number;
  removed: number;
}

/** Maximum bytes of all files that one patch may read and write. */
const MAX_PATCH_BYTES = 64 * 1024 * 1024;

/** A file during planning, after the operations that are already planned. */
interface PlannedFile {
  readonly target: WriteTarget;
  readonly given: WorkspacePath;
  content: 'as_on_disk' | 'absent' | Buffer;
  like: WriteTarget['existing'];
  /** SHA-256 of the content read from disk. */
  computedFrom?: string | undefined;
}

/**
 * Computes the effect of a patch. The planner reads files and changes none. Later operations see the effects of earlier
 * ones. Throws a ToolCallError for the first rejected path and the first hunk that does not match.
 */
export class PatchPlanner {
  readonly changes: PatchChange[] = [];
  readonly #workspace: Workspace;
  readonly #cwd: string | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #slices: WorkSlices;
  readonly #files = new Map<string, PlannedFile>();
  #bytes = 0;

  constructor(workspace: Workspace, cwd: string | undefined, signal: AbortSignal | undefined) {
    this.#workspace = workspace;
    this.#cwd = cwd;
    this.#signal = signal;
    this.#slices = new WorkSlices({ signal });
  }

  /**
   * Rejects a patch with a path that must not be changed. Returns the real paths of all entries that the patch may
   * change.
   */
  async checkPaths(operations: readonly PatchOperation[]): Promise<string[]> {
    await checkInTurns(operations.flatMap(operationPaths), (path) => void this.#resolve(path));
    const places: string[] = [];
    for (const operation of operations) {
      for (const path of operationPaths(operation).map((given) => this.#resolve(given))) {
        throwIfAborted(this.#signal);
        const entry = await findEntryTarget(this.#workspace, path);
        places.push(entry.realPath);
        // A deletion removes the link itself. All other operations read or change the target of the link.
        if (entry.existing?.isSymbolicLink() && operation.kind !== 'delete')
          places.push((await findWriteTarget(this.#workspace, path)).realPath);
      }
    }
    return places;
  }

  async plan(operations: readonly PatchOperation[]): Promise<void> {
    for (const operation of operations) {
      throwIfAborted(this.#signal);
      this.changes.push(await this.#planOne(operation));
    }
    this.#refuseFilesAsFolders();
  }

  /** The required changes, one for each path. */
  fileChanges(): FileChange[] {
    const changes: FileChange[] = [];
    for (const { target, content, like, computedFrom } of this.#files.values()) {
      if (content === 'as_on_disk' || (content === 'absent' && !target.existing)) continue;
      changes.push({ target, bytes: content === 'absent' ? undefined : content, like, computedFrom });
    }
    return changes;
  }

  #planOne(operation: PatchOperation): Promise<PatchChange> {
    if (operation.kind === 'add') return this.#add(operation);
    return operation.kind === 'delete' ? this.#delete(operation) : this.#update(operation);
  }

  async #add({ path, content, added, mustBeNew = false }: AddOperation): Promise<PatchChange> {
    const file = await this.#file(path, true);
    if (mustBeNew) refuseExisting(file, path);
    const removed = await this.#countLines(file);
    file.content = this.#encode(content, path);
    return { path: this.#display(file), kind: 'add', added, removed };
  }

  async #delete({ path, hunks }: DeleteOperation): Promise<PatchChange> {
    const file = await this.#existing(path, false);
    if (hunks && !isLink(file)) await this.#checkWhole(file, { path, hunks });
    const removed = await this.#countLines(file);
    file.content = 'absent';
    return { path: this.#display(file), kind: 'delete', added: 0, removed };
  }

  async #update(operation: UpdateOperation): Promise<PatchChange> {
    const path = await this.#presentName(operation);
    const file = await this.#existing(path, true);
    const { bytes, added, removed } = await this.#updatedContent(file, operation);
    const change: PatchChange = { path: this.#display(file), kind: 'update', added, removed };
    const destination = operation.movedTo === undefined ? file : await this.#file(operation.movedTo, true);
    if (destination !== file) {
      if (operation.mustBeNew) refuseExisting(destination, operation.movedTo!);
      (await this.#file(path, false)).content = 'absent';
      destination.like = file.target.existing ?? file.like;
      change.movedTo = this.#display(destination);
    }
    destination.content = bytes;
    return change;
  }

  async #updatedContent(
    file: PlannedFile,
    operation: UpdateOperation,
  ): Promise<{ bytes: Buffer; added: number; removed: number }> {
    const bytes = await this.#read(file);
    if (operation.hunks.length === 0) return { bytes, added: 0, removed: 0 };
    const path = file.given.given;
    const applied = await applyHunks(plannedText(bytes, file), { path, hunks: operation.hunks }, this.#slices);
    return { bytes: this.#encode(applied.text, path), added: applied.added, removed: applied.removed };
  }

  /** Rejects the deletion of a file by a unified diff that does not show the whole content. */
  async #checkWhole(file: PlannedFile, shown: FileHunks): Promise<void> {
    const { text } = await applyHunks(plannedText(await this.#read(file), file), shown, this.#slices);
    // A text with only a byte order mark has no lines.
    if (text === '' || text === '\uFEFF') return;
    const { path } = shown;
    throw failure(
      'no_match',
      `${quotePath(path)} has lines that its deletion in the patch does not show. Read the file again.`,
      { path },
    );
  }

  /** The name of the existing file. The header of a unified diff names two files, and one of the two may be missing. */
  async #presentName({ path, oldName }: UpdateOperation): Promise<string> {
    if (oldName === undefined) return path;
    const [byNew, byOld] = [await this.#file(path, true), await this.#file(oldName, true)];
    if (byNew === byOld || !isPresent(byOld)) return path;
    if (!isPresent(byNew)) return oldName;
    throw failure(
      'patch_syntax',
      `The patch names two files, ${quotePath(oldName)} and ${quotePath(path)}, and both exist; name the one to change on both lines.`,
      { path },
    );
  }

  async #existing(path: string, follow: boolean): Promise<PlannedFile> {
    const file = await this.#file(path, follow);
    if (!isPresent(file))
      throw failure(
        'missing',
        `${quotePath(path)} does not exist, so it cannot be updated or deleted. Check the path.`,
        { path },
      );
    return file;
  }

  /** The file at a path. An earlier operation of the patch may have deleted or replaced a link at the path. */
  async #file(path: string, follow: boolean): Promise<PlannedFile> {
    const given = this.#resolve(path);
    const entry = await findEntryTarget(this.#workspace, given);
    const known = this.#files.get(entry.realPath);
    if (known) return known;
    const target = follow && entry.existing?.isSymbolicLink() ? await findWriteTarget(this.#workspace, given) : entry;
    const planned = this.#files.get(target.realPath) ?? { target, given, content: 'as_on_disk', like: undefined };
    this.#files.set(target.realPath, planned);
    return planned;
  }

  async #read(file: PlannedFile): Promise<Buffer> {
    if (file.content === 'absent') return Buffer.alloc(0);
    if (file.content !== 'as_on_disk') return file.content;
    return using(openFile(this.#workspace, file.given), async ({ handle, stat }) => {
      const found = await handle.stat({ bigint: true });
      const planned = file.target.existing!;
      if (found.ino !== planned.ino || found.dev !== planned.dev) {
        throw failure('changed', `${quotePath(file.given.given)} was replaced while it was being read. Try again.`, {
          path: file.given.given,
        });
      }
      const bytes = await readAll(handle, stat.size, file.given, this.#signal);
      this.#account(bytes.length);
      file.computedFrom = sha256(bytes);
      return bytes;
    });
  }

  /** The number of lines of a file to delete or replace, regardless of its size; 0 for a link. */
  async #countLines(file: PlannedFile): Promise<number> {
    if (file.content === 'absent') return 0;
    if (file.content !== 'as_on_disk') return lineEnds(file.content) + (endsOpen(file.content) ? 1 : 0);
    if (!file.target.existing?.isFile()) return 0;
    return using(openFile(this.#workspace, file.given), async ({ handle }) => {
      const chunk = Buffer.allocUnsafe(256 * 1024);
      let lines = 0;
      let open = false;
      for (let bytes = 0; ;) {
        throwIfAborted(this.#signal);
        const { bytesRead } = await handle.read(chunk, 0, chunk.length, bytes);
        if (bytesRead === 0) return lines + (open ? 1 : 0);
        lines += lineEnds(chunk.subarray(0, bytesRead));
        open = endsOpen(chunk.subarray(0, bytesRead));
        bytes += bytesRead;
      }
    });
  }

  #resolve(path: string): WorkspacePath {
    return resolvePath(this.#workspace, path, this.#cwd);
  }

  #display(file: PlannedFile): string {
    return displayPath(this.#workspace, file.target.realPath);
  }

  #encode(text: string, path: string): Buffer {
    checkEncodable(text, `The new content of ${quotePath(path)}`);
    const bytes = Buffer.from(text);
    this.#account(bytes.length);
    return bytes;
  }

  #account(bytes: number): void {
    this.#bytes += bytes;
    // defence: patch-total-cap
    if (this.#bytes > MAX_PATCH_BYTES)
      throw failure(
        'too_large',
        `The files of this patch are larger than ${MAX_PATCH_BYTES / 1024 / 1024} MB together. Split the patch.`,
      );
  }

  #refuseFilesAsFolders(): void {
    const present = new Map([...this.#files].filter(([, { content }]) => content !== 'absent'));
    for (const [realPath, file] of present) {
      for (let folder = dirname(realPath); folder !== dirname(folder); folder = dirname(folder)) {
        const inTheWay = present.get(folder);
        if (!inTheWay) continue;
        throw failure(
          'not_a_folder',
          `${quotePath(file.given.given)} cannot be created: the patch makes ${quotePath(inTheWay.given.given)} a file. Use another path.`,
        );
      }
    }
  }
}

function isPresent({ content, target }: PlannedFile): boolean {
  return content === 'as_on_disk' ? target.existing !== undefined : content !== 'absent';
}

function isLink({ content, target }: PlannedFile): boolean {
  return content === 'as_on_disk' && target.existing?.isSymbolicLink() === true;
}

function refuseExisting(file: PlannedFile, path: string): void {
  if (isPresent(file))
    throw failure(
      'exists',
      `${quotePath(path)} already exists, but the patch says that it is new. Update it, or delete it first.`,
      { path },
    );
}

function plannedText(bytes: Buffer, { given }: PlannedFile): string {
  checkText(bytes, given);
  const path = given.given;
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw failure(
    'binary',
    `${quotePath(path)} is not valid UTF-8, so a patch would damage it. Convert it to UTF-8 first.`,
    { path },
  );
}

function lineEnds(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === 10) count += 1;
  return count;
}

function endsOpen(bytes: Buffer): boolean {
  return bytes.length > 0 && bytes.at(-1) !== 10;
}
