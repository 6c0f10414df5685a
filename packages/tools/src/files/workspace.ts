import { existsSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import { failure } from '../failure.js';
import { ChangeRecords, type ChangeRecordOptions } from './change-records.js';
import { FairLock, type LockCaller } from './fair-lock.js';
import { makePrivateFolder, makeStateFolder } from './state-folder.js';
import { checkSpelling, quotePath } from './path-rules.js';
import { productFilesIn, type ProductFiles } from './product-folders.js';
import { PROTECTED_NAMES, protectedName, repositoryFile } from './protected-names.js';
import { isInside } from './is-inside.js';

/**
 * The folders that tools may touch.
 *
 * A path passes two checks. The first is lexical and lives here: `resolvePath` rejects paths that are outside by their
 * spelling, before any system call. The second verifies the opened file (open-verified.ts), because a spelling proves
 * nothing about links, and links can be swapped at any moment.
 */
export interface Workspace {
  /** The roots in the given order. Relative paths start at the first one. */
  readonly roots: readonly WorkspaceRoot[];
  readonly verification: Verification;
  readonly hardLinks: 'refuse' | 'read';
  readonly unprotected: ReadonlySet<string>;
  /** The files of the program itself inside the roots. */
  readonly product: ProductFiles;
  /** Runs one change to files at a time. Callers wait in a fair queue. */
  readonly exclusive: <T>(change: () => Promise<T>, caller: LockCaller) => Promise<T>;
  /** The number of changes that have started or ended. Caches of results depend on it. */
  readonly changeCount: () => number;
  /**
   * The folder for locks and journals, outside every project; undefined if no folder is safe. The first call creates
   * the folder.
   */
  readonly stateFolder: () => string | undefined;
  /** The records of file changes, for undo; undefined if nothing is recorded. */
  readonly records: ChangeRecords | undefined;
  /** Device numbers of the kernel's own file systems, whose files expose processes and hardware. */
  readonly kernelDevices: ReadonlySet<number>;
}

export interface WorkspaceRoot {
  /** The absolute path, with symbolic links resolved. */
  readonly realPath: string;
  /** The path as the host wrote it, made absolute. Absolute paths may use this spelling too. */
  readonly givenPath: string;
  readonly access: 'read' | 'write';
}

export type RootOption = string | { readonly path: string; readonly access?: 'read' | 'write' | undefined };

export interface WorkspaceOptions {
  /** One folder or several. Each must exist. The default `access` is 'write'. */
  readonly roots: RootOption | readonly RootOption[];
  /** Names in `PROTECTED_NAMES` that may be written, such as '.vscode'. */
  readonly unprotected?: readonly string[] | undefined;
  /**
   * A file with several hard links may be the same file as one outside the workspace. 'refuse' (default) rejects reads
   * of such a file, except below `node_modules` and `site-packages`; 'read' allows them.
   */
  readonly hardLinks?: 'refuse' | 'read' | undefined;
  /** The method that verifies opened files. Default: the best method that the system supports. */
  readonly verification?: Verification | undefined;
  /**
   * A folder for locks and journals of changes. All processes that change the same files must share it. Default:
   * `toolscript/files` in the user's own state folder (`$XDG_STATE_HOME`, `~/.local/state`).
   */
  readonly stateFolder?: string | undefined;
  /**
   * Records the changes that `writeFile` and `applyPatch` make for a script, and in a git workspace those of its
   * commands, with the old files, so that they can be undone. The host deletes the records together with the script. Default: nothing is recorded.
   */
  readonly undo?: ChangeRecordOptions | undefined;
}

/**
 * 'descriptor': the kernel reports the path of an open file (`/proc/self/fd`); no race can deceive it. 'path': the path
 * is resolved again after the file is open, and device and inode are compared; a fast swap in between could escape the
 * check.
 */
export type Verification = 'descriptor' | 'path';

/** The best verification on this machine. */
export function availableVerification(): Verification {
  return process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptor' : 'path';
}

/**
 * Creates a workspace. Throws a ToolscriptUsageError for invalid options, such as a root that is missing or not a
 * folder, and an unknown name in `unprotected`.
 */
export function createWorkspace(options: WorkspaceOptions): Workspace {
  const given = Array.isArray(options.roots) ? (options.roots as readonly RootOption[]) : [options.roots as RootOption];
  if (given.length === 0) throw new ToolscriptUsageError('WORKSPACE_WITHOUT_ROOT');
  const verification = options.verification ?? availableVerification();
  if (verification === 'descriptor' && availableVerification() !== 'descriptor') {
    throw new ToolscriptUsageError('VERIFICATION_UNAVAILABLE');
  }
  const roots = Object.freeze(differentRoots(given.map(openRoot)));
  const writable = roots.filter(({ access }) => access === 'write').map(({ realPath }) => realPath);
  return Object.freeze({
    roots,
    verification,
    hardLinks: options.hardLinks ?? 'refuse',
    unprotected: knownNames(options.unprotected ?? []),
    product: productFilesIn(writable),
    ...oneAtATime(),
    stateFolder: onFirstUse(() => obtainStateFolder(options.stateFolder)),
    records: options.undo === undefined ? undefined : new ChangeRecords(options.undo),
    kernelDevices: kernelDevices(),
  });
}

/** A path whose spelling is inside the workspace. The file itself is not verified yet. */
export interface WorkspacePath {
  /** The absolute, normalised path, inside the real path of a root. */
  readonly absolute: string;
  /** The path as the caller wrote it, for messages. */
  readonly given: string;
}

/**
 * Resolves a path. A relative path starts at `workdir`, and a relative `workdir` starts at the first root. Absolute
 * paths must be inside a root. `..` must not lead out of the workspace.
 */
export function resolvePath(workspace: Workspace, path: string, workdir?: string): WorkspacePath {
  checkSpelling(path);
  const base = workdir === undefined ? workspace.roots[0]!.realPath : resolvePath(workspace, workdir).absolute;
  const absolute = resolve(base, path);
  for (const root of workspace.roots) {
    for (const spelled of [root.realPath, root.givenPath]) {
      if (isInside(spelled, absolute))
        return { absolute: join(root.realPath, relative(spelled, absolute)), given: path };
    }
  }
  throw failure('outside', `The path ${quotePath(path)} is outside the workspace. Use a path inside it.`, { path });
}

/** The innermost root that contains a path whose symbolic links are resolved; undefined if no root contains it. */
export function innermostRoot(workspace: Workspace, realPath: string): WorkspaceRoot | undefined {
  return workspace.roots
    .filter((root) => isInside(root.realPath, realPath))
    .reduce<WorkspaceRoot | undefined>(
      (best, root) => (best && best.realPath.length >= root.realPath.length ? best : root),
      undefined,
    );
}

/**
 * The name of a file in the results of tools: relative to the first root, absolute in the others; `/` between names.
 */
export function displayPath(workspace: Workspace, realPath: string): string {
  const first = workspace.roots[0]!.realPath;
  const shown = isInside(first, realPath) ? relative(first, realPath) || '.' : realPath;
  return sep === '/' ? shown : shown.split(sep).join('/');
}

/** Describes the roots after the first one to the model; '' if the workspace has only one root. */
export function otherRoots({ roots }: Workspace): string {
  const others = roots
    .slice(1)
    .map((root) => `${quotePath(root.realPath)}${root.access === 'read' ? ' (read only)' : ''}`);
  return others.length === 0 ? '' : ` Other folders, by absolute paths: ${others.join(', ')}.`;
}

/**
 * Rejects a path outside the roots, in a read-only root or in Toolscript's own files, and a path with a protected name.
 * The symbolic links of `realPath` are resolved.
 */
export function checkWritable(workspace: Workspace, realPath: string, given: string): void {
  const root = innermostRoot(workspace, realPath);
  if (!root)
    throw failure(
      'link_outside',
      `The path ${quotePath(given)} leads outside the workspace through a link. Use a path inside the workspace.`,
      {
        path: given,
      },
    );
  if (root.access !== 'write')
    throw failure('read_only', `The path ${quotePath(given)} is in a read-only folder. Write to another folder.`, {
      path: given,
    });
  const stateFolder = workspace.stateFolder();
  // defence: state-folder-protected
  if (stateFolder !== undefined && isInside(stateFolder, realPath)) throw ownState(given);
  // defence: undo-records-protected
  if (workspace.records !== undefined && isInside(workspace.records.folder, realPath)) throw ownState(given);
  // defence: file-tools-leave-the-program-alone
  checkProduct(workspace.product, realPath, given);
  const inRoot = relative(root.realPath, realPath).split(sep).join('/');
  // defence: file-tools-make-no-repository
  const rule = protectedName(inRoot, workspace.unprotected) ?? repositoryFile(inRoot, workspace.unprotected);
  if (rule) {
    throw failure(
      'protected',
      `The path ${quotePath(given)} is protected: ${rule.reason} (${rule.name}). Use another path.`,
      {
        path: given,
        name: rule.name,
      },
    );
  }
}

function checkProduct({ present, absent }: ProductFiles, realPath: string, given: string): void {
  if (![...present, ...absent].some((path) => isInside(path, realPath))) return;
  throw failure(
    'protected',
    `The path ${quotePath(given)} is protected: Toolscript itself runs from it. Use another path.`,
    {
      path: given,
    },
  );
}

function openRoot(option: RootOption): WorkspaceRoot {
  const { path, access = 'write' } = typeof option === 'string' ? { path: option } : option;
  if (typeof path !== 'string' || path.length === 0) throw new ToolscriptUsageError('WORKSPACE_ROOT_NOT_A_PATH');
  const givenPath = isAbsolute(path) ? resolve(path) : resolve(process.cwd(), path);
  let realPath: string;
  try {
    realPath = realpathSync.native(givenPath);
  } catch {
    throw new ToolscriptUsageError('WORKSPACE_ROOT_MISSING', { path });
  }
  if (!statSync(realPath).isDirectory()) throw new ToolscriptUsageError('WORKSPACE_ROOT_NOT_A_FOLDER', { path });
  return Object.freeze({ realPath, givenPath, access });
}

/** Rejects a folder that the roots contain twice, because its access would be ambiguous. */
function differentRoots(roots: readonly WorkspaceRoot[]): readonly WorkspaceRoot[] {
  const twice = roots.find((root, index) => roots.findIndex(({ realPath }) => realPath === root.realPath) < index);
  if (twice) throw new ToolscriptUsageError('WORKSPACE_ROOT_GIVEN_TWICE', { path: twice.givenPath });
  return roots;
}

function obtainStateFolder(given: string | undefined): string | undefined {
  const found = given === undefined ? makeStateFolder(process.env) : makePrivateFolder(given) ? given : undefined;
  return found === undefined ? undefined : realpathSync.native(found);
}

function onFirstUse<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function ownState(given: string): Error {
  return failure(
    'protected',
    `The path ${quotePath(given)} is protected: Toolscript stores its own state there. Use another path.`,
    {
      path: given,
    },
  );
}

function kernelDevices(): ReadonlySet<number> {
  const found = ['/proc', '/sys'].map((folder) => statSync(folder, { throwIfNoEntry: false })?.dev);
  return new Set(found.filter((device) => device !== undefined && device !== statSync('/').dev) as number[]);
}

function knownNames(names: readonly string[]): ReadonlySet<string> {
  const unknown = names.find((name) => !PROTECTED_NAMES.some((rule) => rule.name === name));
  if (unknown !== undefined) throw new ToolscriptUsageError('PROTECTED_NAME_UNKNOWN', { name: unknown });
  return new Set(names);
}

function oneAtATime(): Pick<Workspace, 'exclusive' | 'changeCount'> {
  const lock = new FairLock();
  let count = 0;
  const counted = async <T>(change: () => Promise<T>): Promise<T> => {
    count += 1;
    try {
      return await change();
    } finally {
      count += 1;
    }
  };
  return {
    exclusive: (change, caller) => lock.run(() => counted(change), caller),
    changeCount: () => count,
  };
}
