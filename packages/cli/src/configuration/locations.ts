import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Environment } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** The name of a workspace's own file. */
export const WORKSPACE_FILE = 'toolscript.config.json';

/** Where a workspace has agents of its own, one JSON file each. */
export const WORKSPACE_AGENTS = '.toolscript/agents';

/** Where the person's own settings live. */
export interface UserFolder {
  readonly path: string;
  readonly configFile: string;
  /** The same in TypeScript. There is one or the other. */
  readonly configCodeFile: string;
  /** Agents of the person's own, one file each. */
  readonly agentsFolder: string;
  /** The workspaces whose own files count, one file each. */
  readonly trustFolder: string;
  /** What the person said to allow always, a folder for each workspace. */
  readonly rulesFolder: string;
}

/** `$XDG_CONFIG_HOME/toolscript`, `%APPDATA%\toolscript`, or `~/.config/toolscript`. Throws a UsageError where there is no home. */
export function userFolder(environment: Environment, platform: NodeJS.Platform = process.platform): UserFolder {
  const path = join(baseFolder(environment, platform), 'toolscript');
  return {
    path,
    configFile: join(path, 'config.json'),
    configCodeFile: join(path, 'config.ts'),
    agentsFolder: join(path, 'agents'),
    trustFolder: join(path, 'trusted'),
    rulesFolder: join(path, 'rules'),
  };
}

/** Where what scripts leave behind is kept. */
export interface DataFolder {
  readonly path: string;
  /** Scripts that wait, were cut off, or ended a while ago. */
  readonly scriptsFolder: string;
  /** For each of them, where it was started. */
  readonly originsFolder: string;
  /** Conversations. */
  readonly databaseFile: string;
  /** Conversations of earlier versions, one file each. */
  readonly threadsFolder: string;
  /** A mark for each of those that was imported. */
  readonly importedThreadsFolder: string;
  readonly keyFile: string;
  readonly auditFile: string;
}

/** `$XDG_DATA_HOME/toolscript`, `%LOCALAPPDATA%\toolscript`, `~/Library/Application Support/toolscript`, or `~/.local/share/toolscript`. Throws a UsageError where there is no home. */
export function dataFolder(environment: Environment, platform: NodeJS.Platform = process.platform): DataFolder {
  const path = join(baseDataFolder(environment, platform), 'toolscript');
  return {
    path,
    scriptsFolder: join(path, 'scripts'),
    originsFolder: join(path, 'origins'),
    databaseFile: join(path, 'toolscript.db'),
    threadsFolder: join(path, 'threads'),
    importedThreadsFolder: join(path, 'imported-threads'),
    keyFile: join(path, 'suspension.key'),
    auditFile: join(path, 'audit.jsonl'),
  };
}

function baseDataFolder(environment: Environment, platform: NodeJS.Platform): string {
  const { XDG_DATA_HOME: xdg, LOCALAPPDATA: appData } = environment;
  if (xdg !== undefined && isAbsolute(xdg)) return xdg;
  if (platform === 'win32' && appData !== undefined && isAbsolute(appData)) return appData;
  if (platform === 'darwin') return join(homeFolder(environment, platform), 'Library', 'Application Support');
  return join(homeFolder(environment, platform), '.local', 'share');
}

function baseFolder(environment: Environment, platform: NodeJS.Platform): string {
  const { XDG_CONFIG_HOME: xdg, APPDATA: appData } = environment;
  if (xdg !== undefined && isAbsolute(xdg)) return xdg;
  if (platform === 'win32' && appData !== undefined && isAbsolute(appData)) return appData;
  return join(homeFolder(environment, platform), '.config');
}

/** Always absolute: a relative home would be a folder of the workspace. An empty variable counts as unset. */
function homeFolder(environment: Environment, platform: NodeJS.Platform): string {
  const variable = platform === 'win32' ? 'USERPROFILE' : 'HOME';
  const named = environment[variable] ?? '';
  const home = named === '' ? accountHome() : named;
  // defence: home-is-absolute, without it: return home ?? '';
  if (home !== undefined && isAbsolute(home)) return home;
  const cause =
    named === ''
      ? `${variable} is not set, and your account names no home folder`
      : `${variable} is "${visibleLine(named)}"`;
  throw new UsageError(
    `Your own configuration and data cannot be found: ${cause}. Set ${variable} to the absolute path of a folder, or set XDG_CONFIG_HOME and XDG_DATA_HOME.`,
  );
}

/** Undefined where the user has no account on this machine, as in many containers. */
function accountHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined;
  }
}
