import { userFolder } from '../configuration/locations.js';
import {
  currentFolder,
  demandOwnFoldersOutside,
  emptyFolder,
  workspaceFolder,
} from '../configuration/workspace-folder.js';
import type { Environment, Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { isUsageError } from '../usage-error.js';
import type { McpPlace } from './mcp-files.js';

/**
 * The real path of the current folder. MCP clients start servers in any folder. If the current folder cannot be a
 * workspace, returns an empty folder, or throws a UsageError if `isNeeded`.
 */
export async function currentWorkspace(
  environment: Environment,
  { isNeeded = false, warn }: { isNeeded?: boolean | undefined; warn: (message: string) => void },
): Promise<string> {
  const current = await workspaceFolder(undefined);
  try {
    demandOwnFoldersOutside(current, environment);
    return current;
  } catch (error) {
    if (!isUsageError(error) || isNeeded) throw error;
    warn(
      `${visibleLine(currentFolder())} is not used as the workspace, because your own configuration or data is in it. Start in another folder.`,
    );
    return emptyFolder(environment);
  }
}

/** The workspace and the files that name a command's servers. `cwd` and `config` are options of the command. */
export async function mcpPlace(
  { cwd, config }: { cwd?: string | undefined; config?: string | undefined },
  screen: Screen,
): Promise<McpPlace> {
  const workspace =
    cwd === undefined ? await currentWorkspace(process.env, { warn: screen.notice }) : await workspaceFolder(cwd);
  return { user: userFolder(process.env), workspace, file: config, warn: screen.notice };
}
