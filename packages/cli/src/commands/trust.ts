import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { userFolder, WORKSPACE_AGENTS, WORKSPACE_FILE, WORKSPACE_PROMPTS } from '../configuration/locations.js';
import { demandOwnFoldersOutside, workspaceFolder } from '../configuration/workspace-folder.js';
import { storeTrust, removeTrust, trustedMcp } from '../configuration/trust.js';
import { EXIT } from '../exit-status.js';
import { readWorkspaceFile, type McpFile } from '../mcp/mcp-files.js';
import { serverLine } from '../mcp/server-line.js';
import { narrowedEntry } from '../mcp/workspace-servers.js';
import { agrees } from '../approvals/agrees.js';
import { openScreen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';

export interface TrustFolderFlags {
  remove?: boolean | undefined;
  /** True to trust MCP servers without a question. */
  yes?: boolean | undefined;
}

/** Trusts a workspace's configuration, or ends the trust. Asks before it trusts MCP servers. */
export async function trustFolder(folder: string | undefined, flags: TrustFolderFlags): Promise<number> {
  const real = await workspaceFolder(folder);
  demandOwnFoldersOutside(real, process.env);
  return flags.remove === true ? endTrust(real) : trust(real, flags);
}

async function endTrust(folder: string): Promise<number> {
  const changed = await removeTrust(userFolder(process.env), folder);
  const counts = changed ? 'is no longer trusted.' : 'was not trusted; nothing changed.';
  openScreen().line(`${visibleLine(folder)} ${counts}`);
  return EXIT.completed;
}

async function trust(folder: string, { yes = false }: TrustFolderFlags): Promise<number> {
  const screen = openScreen();
  const user = userFolder(process.env);
  const name = visibleLine(folder);
  const servers = await readWorkspaceFile(folder);
  if (servers !== undefined && (await trustedMcp(user, folder)) !== servers.sha256) {
    screen.write(shownServers(servers));
    const isAgreed = yes || (await agrees('Start these servers from now on, until the file changes?', SERVERS));
    if (!isAgreed) {
      screen.line('Nothing was trusted.');
      return EXIT.failed;
    }
  }
  const changed = await storeTrust(user, folder, servers?.sha256);
  screen.line(
    changed ? `${name} is trusted. ${countingFiles(folder)}` : `${name} was already trusted; nothing changed.`,
  );
  return EXIT.completed;
}

const SERVERS = 'Read the servers above, then add --yes.';

function countingFiles(folder: string): string {
  const found = [WORKSPACE_FILE, WORKSPACE_AGENTS, WORKSPACE_PROMPTS].filter((file) => existsSync(join(folder, file)));
  if (found.length === 0) return `It has no ${WORKSPACE_FILE} yet. Toolscript will use one that you add.`;
  return found.length === 1
    ? `Toolscript uses its ${found[0]} from now on.`
    : `Toolscript uses its ${found.join(' and ')} from now on.`;
}

function shownServers({ path, servers }: McpFile): string {
  const lines = Object.entries(servers).map(([name, entry]) => `  ${serverLine(name, entry)}\n${settingsLine(entry)}`);
  return `${visibleLine(path)} names these MCP servers, which run outside of the sandbox:\n${lines.join('')}`;
}

/** The lines about the members other than the command and the URL: these members also decide what the server does. */
function settingsLine(entry: unknown): string {
  const {
    command: _command,
    args: _args,
    url: _url,
    openapi: _openapi,
    ...more
  } = (narrowedEntry(entry) ?? {}) as Record<string, unknown>;
  const settings = Object.keys(more).length === 0 ? '' : `    with ${visibleLine(JSON.stringify(more))}\n`;
  const isNarrowed = JSON.stringify(narrowedEntry(entry)) !== JSON.stringify(entry);
  return isNarrowed ? `${settings}    "allow" in its "tools" has no effect in a workspace\n` : settings;
}
