import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path';
import type { Workspace } from '../../files/workspace.js';
import { HISTORY, HOME_EXCEPTIONS, HOME_SECRETS, POINTERS, SYSTEM_SECRETS } from './secrets.js';

/**
 * The part of the disk that a sandboxed command can use. All paths are absolute. A command can read paths outside these
 * lists, but cannot write to them.
 */
export interface SandboxedDisk {
  readonly denyRead: readonly string[];
  /** Exceptions to `denyRead`. */
  readonly allowRead: readonly string[];
  readonly allowWrite: readonly string[];
  /** Exceptions to `allowWrite`, besides the protected names. */
  readonly denyWrite: readonly string[];
  /** Paths at which a command may create nothing. */
  readonly absent: readonly string[];
  /** Like `denyRead`, for paths that the sandbox's package would treat as patterns. */
  readonly hidden: readonly string[];
  /** Protected names that may be written. */
  readonly unprotected: readonly string[];
  /** The folder for protected entries that a command made; undefined if there is no safe folder. */
  readonly quarantine: string | undefined;
}

/** Folders of temporary files. On Linux, each command gets its own empty folders instead. */
const TEMPORARY_FOLDERS = ['/tmp', '/var/tmp'];

/** The rules for one command. Each command needs new rules, because files appear and disappear. */
export function sandboxedDisk(
  workspace: Workspace,
  environment: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): SandboxedDisk {
  const roots = workspace.roots.map(({ realPath }) => realPath);
  // defence: read-only-roots-in-sandbox
  const writable = workspace.roots.filter(({ access }) => access === 'write').map(({ realPath }) => realPath);
  const homes = homeFolders(environment);
  const secrets = secretPaths(homes, environment, platform);
  const state = workspace.stateFolder();
  // defence: locks-and-journals-hidden
  if (state !== undefined) secrets.push(state);
  // defence: undo-records-hidden
  if (workspace.records !== undefined) secrets.push(workspace.records.folder);
  const hidden = secrets.filter((path) => existsSync(path) && !roots.includes(path));
  return {
    denyRead: hidden.filter((path) => !hasPattern(path)),
    allowRead: [
      ...roots,
      ...homes.flatMap((home) => HOME_EXCEPTIONS.map((name) => join(home, name))).filter((path) => existsSync(path)),
    ],
    allowWrite: writable,
    // defence: program-read-only-in-sandbox
    denyWrite: workspace.product.present,
    // defence: places-before-the-program
    absent: workspace.product.absent,
    // defence: secrets-with-pattern-characters
    hidden: hidden.filter(hasPattern).map((path) => realpathSync(path)),
    unprotected: [...workspace.unprotected],
    quarantine: state === undefined ? undefined : join(state, 'quarantine'),
  };
}

function secretPaths(homes: readonly string[], environment: NodeJS.ProcessEnv, platform: NodeJS.Platform): string[] {
  const secrets: string[] = [];
  // defence: home-secrets-hidden
  secrets.push(...homes.flatMap(homeSecrets));
  // defence: named-secrets-hidden
  secrets.push(...pointedAt(environment));
  // defence: system-secrets-hidden
  secrets.push(...SYSTEM_SECRETS);
  // defence: temporary-folders-of-its-own
  if (platform === 'linux') secrets.push(...TEMPORARY_FOLDERS);
  return secrets;
}

/**
 * The user's home folders according to the environment and to the system, and all folders in `/home` for root. A user
 * may have no home folder.
 */
function homeFolders(environment: NodeJS.ProcessEnv): string[] {
  // defence: other-homes-hidden-from-root
  const others = process.geteuid?.() === 0 ? folderEntries('/home').map((name) => join('/home', name)) : [];
  const homes = [environment['HOME'], ...others, ...[homedir, () => userInfo().homedir].map(orUndefined)];
  return [...new Set(homes)].filter((home) => home !== undefined && isAbsolute(home) && home !== sep) as string[];
}

/**
 * The result of a lookup; undefined if the lookup throws. It throws for a user who is not in the system's user list.
 */
function orUndefined(ask: () => string): string | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

/** Whether the sandbox's package treats a path as a pattern. */
export function hasPattern(path: string): boolean {
  return /[*?[\]]/.test(path);
}

function homeSecrets(home: string): string[] {
  // defence: histories-hidden
  return [...HOME_SECRETS, ...histories(home)].map((name) => join(home, name));
}

function histories(home: string): string[] {
  return folderEntries(home).filter((name) => HISTORY.test(name));
}

function folderEntries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function pointedAt(environment: NodeJS.ProcessEnv): string[] {
  const own = [environment['XDG_CONFIG_HOME'], environment['XDG_DATA_HOME']].filter((folder) => folder !== undefined);
  const values = POINTERS.map((name) => environment[name] ?? '').filter((value) => value !== '');
  // Some variables contain several paths, and a path may contain a colon.
  const named = values.flatMap((value) => [value, ...value.split(delimiter)]).filter((value) => value !== '');
  return [...named.map(absolute), ...own.map((folder) => join(folder, 'toolscript'))].filter(
    (path) => isAbsolute(path) && path !== sep,
  );
}

function absolute(path: string): string {
  try {
    return resolve(path);
  } catch {
    // The current folder was removed, so the path stays unresolved.
    return path;
  }
}
