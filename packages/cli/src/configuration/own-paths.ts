import type { Environment } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { dataFolder, userFolder } from './locations.js';
import { leadsInto } from './real-path.js';

/*
 * All files of the user (configuration, rules, agents, trusted folders, suspended scripts, their key, the audit log)
 * must be outside of the workspace, and their paths must use no link inside it: scripts and the authors of the
 * workspace's files may write there. This is the only module that checks it.
 */

/** Checks every path of the user's own folders. `workspace` is a real path. Throws a UsageError. */
export function demandOwnFoldersOutside(workspace: string, environment: Environment): void {
  demandAll(Object.values(userFolder(environment)), workspace, 'configuration', 'XDG_CONFIG_HOME');
  demandAll(Object.values(dataFolder(environment)), workspace, 'data', 'XDG_DATA_HOME');
}

/** The same check for one file in these folders. Throws a UsageError. */
export function demandOutside(path: string, workspace: string): void {
  // defence: own-file-outside-workspace, without it: const isTheirs = path === workspace;
  const isTheirs = leadsInto(workspace, path);
  if (isTheirs)
    throw new UsageError(
      `${visibleLine(path)} leads into the workspace ${visibleLine(workspace)}, where scripts may write, so it is ignored. Replace the link with the file itself.`,
    );
}

function demandAll(paths: readonly string[], workspace: string, what: string, variable: string): void {
  // defence: own-folder-outside-workspace, without it: const found = paths.find((path) => path === workspace);
  const found = paths.find((path) => leadsInto(workspace, path));
  if (found !== undefined)
    throw new UsageError(
      `Your own ${what} in ${visibleLine(found)} cannot be used: it is in the workspace ${visibleLine(workspace)}, or is reached through it, where scripts may write. Start in another folder or name one with --cwd, or set ${variable} to a folder outside of the workspace.`,
    );
}
