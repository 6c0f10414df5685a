import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Environment } from '../terminal/style.js';

/** The name of a workspace's own file. */
export const WORKSPACE_FILE = 'toolscript.config.json';

/** Where the person's own settings live. */
export interface UserFolder {
  readonly path: string;
  readonly configFile: string;
  /** Not read in this version; its presence is an error rather than a silence. */
  readonly configCodeFile: string;
  readonly trustFile: string;
}

/** `$XDG_CONFIG_HOME/toolscript`, `%APPDATA%\toolscript`, or `~/.config/toolscript`. */
export function userFolder(environment: Environment, platform: NodeJS.Platform = process.platform): UserFolder {
  const path = join(baseFolder(environment, platform), 'toolscript');
  return {
    path,
    configFile: join(path, 'config.json'),
    configCodeFile: join(path, 'config.ts'),
    trustFile: join(path, 'trusted-folders.json'),
  };
}

function baseFolder(environment: Environment, platform: NodeJS.Platform): string {
  const { XDG_CONFIG_HOME: xdg, APPDATA: appData } = environment;
  if (xdg !== undefined && isAbsolute(xdg)) return xdg;
  if (platform === 'win32' && appData !== undefined && isAbsolute(appData)) return appData;
  return join(homedir(), '.config');
}
