import { userFolder, WORKSPACE_FILE } from '../configuration/locations.js';
import { demandOwnFoldersOutside } from '../configuration/own-paths.js';
import { addTrust, removeTrust } from '../configuration/trust.js';
import { workspaceFolder } from '../configuration/workspace-folder.js';
import { EXIT } from '../exit-status.js';
import { readWorkspaceFile, type McpFile } from '../mcp/mcp-files.js';
import { serverLine } from '../mcp/server-line.js';
import { visibleLine } from '../terminal/untrusted.js';

/** Trusts a workspace's own configuration, or ends the trust. */
export async function trustFolder(
  folder: string | undefined,
  { remove = false }: { remove?: boolean },
): Promise<number> {
  const real = await workspaceFolder(folder);
  demandOwnFoldersOutside(real, process.env);
  const user = userFolder(process.env);
  const servers = remove ? undefined : await readWorkspaceFile(real);
  const changed = remove ? await removeTrust(user, real) : await addTrust(user, real, servers?.sha256);
  const name = visibleLine(real);
  const counts = remove ? 'is ignored from now on' : 'is used from now on';
  process.stdout.write(
    changed
      ? `${name}: its ${WORKSPACE_FILE} ${counts}.\n${servers === undefined ? '' : startedServers(servers)}`
      : `${name} was ${remove ? 'not' : 'already'} trusted; nothing changed.\n`,
  );
  return EXIT.completed;
}

function startedServers({ path, servers }: McpFile): string {
  const lines = Object.entries(servers).map(([name, entry]) => `  ${serverLine(name, entry)}\n${settingsLine(entry)}`);
  return `${visibleLine(path)}: its MCP servers are started from now on, until the file changes:\n${lines.join('')}`;
}

/** All that the entry sets beside its program or address: variables and rules decide about what it does, too. */
function settingsLine(entry: unknown): string {
  const { command: _command, args: _args, url: _url, ...more } = (entry ?? {}) as Record<string, unknown>;
  return Object.keys(more).length === 0 ? '' : `    with ${visibleLine(JSON.stringify(more))}\n`;
}
