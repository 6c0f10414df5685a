import type { Environment } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { dataFolder, userFolder } from './locations.js';
import { leadsInto } from './real-path.js';

/*
 * Everything that belongs to the user (configuration, rules, agents, trusted folders, pending scripts, their key, the
 * audit log) must lie outside of the workspace, and be reached without any link inside it: scripts and whoever wrote
 * the workspace's files may write there. This is the only place that says so.
 */

/** Holds for every path of the user's own folders. `workspace` has no links. Throws a UsageError. */
export function demandOwnFoldersOutside(workspace: string, environment: Environment): void {
  demandAll(Object.values(userFolder(environment)), workspace, 'configuration', 'XDG_CONFIG_HOME');
  demandAll(Object.values(dataFolder(environment)), workspace, 'data', 'XDG_DATA_HOME');
}

/** The same for one file in these folders. Throws a UsageError. */
export function demandOutside(path: string, workspace: string): void {
  // defence: own-file-outside-workspace, without it: const isTheirs = path === workspace;
  const isTheirs = leadsInto(workspace, path);
  if (isTheirs)
    throw new UsageError(
      `${visibleLine(path)} leads into the workspace ${visibleLine(workspace)}, where scripts may write; it does not count. Put the file itself there.`,
    );
}

function demandAll(paths: readonly string[], workspace: string, what: string, variable: string): void {
  // defence: own-folder-outside-workspace, without it: const found = paths.find((path) => path === workspace);
  const found = paths.find((path) => leadsInto(workspace, path));
  if (found !== undefined)
    throw new UsageError(
      `Your own ${what} in ${visibleLine(found)} cannot be used: it lies in the workspace ${visibleLine(workspace)}, or is reached through it, where scripts may write. Start in another folder or name one with --cwd, or set ${variable} to a folder outside of the workspace.`,
    );
}
