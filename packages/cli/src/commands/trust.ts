import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { userFolder, WORKSPACE_AGENTS, WORKSPACE_FILE, WORKSPACE_PROMPTS } from '../configuration/locations.js';
import { demandOwnFoldersOutside, workspaceFolder } from '../configuration/workspace-folder.js';
import type { Hooks } from '../configuration/schema.js';
import { storeTrust, removeTrust, trustedFiles } from '../configuration/trust.js';
import {
  readWorkspaceConfiguration,
  type WorkspaceConfigurationFile,
} from '../configuration/workspace-configuration.js';
import { EXIT } from '../exit-status.js';
import { readWorkspaceFile, type McpFile } from '../mcp/mcp-files.js';
import { serverLine } from '../mcp/server-line.js';
import { narrowedEntry } from '../mcp/workspace-servers.js';
import { agrees } from '../approvals/agrees.js';
import { openScreen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';

export interface TrustFolderFlags {
  remove?: boolean | undefined;
  /** True to trust MCP servers and hooks without a question. */
  yes?: boolean | undefined;
}

/** Trusts a workspace's configuration, or ends the trust. Asks before it trusts MCP servers and hooks. */
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
  const configuration = await readWorkspaceConfiguration(folder);
  const hooks = configuration?.configuration.hooks === undefined ? undefined : configuration;
  const before = await trustedFiles(user, folder);
  const questions = [
    ...(servers === undefined || before.mcp === servers.sha256 ? [] : [[shownServers(servers), START] as const]),
    ...(hooks === undefined || before.hooks === hooks.sha256 ? [] : [[shownHooks(hooks), RUN] as const]),
  ];
  for (const [shown, question] of questions) {
    screen.write(shown);
    if (yes || (await agrees(question, READ))) continue;
    screen.line('Nothing was trusted.');
    return EXIT.failed;
  }
  const changed = await storeTrust(user, folder, { mcp: servers?.sha256, hooks: hooks?.sha256 });
  screen.line(
    changed ? `${name} is trusted. ${countingFiles(folder)}` : `${name} was already trusted; nothing changed.`,
  );
  return EXIT.completed;
}

const START = 'Start these servers from now on, until the file changes?';
const RUN = 'Run these hooks from now on, until the file changes?';
const READ = 'Read the commands above, then add --yes.';

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

function shownHooks({ path, configuration }: WorkspaceConfigurationFile): string {
  const lines = Object.entries(configuration.hooks as Hooks).flatMap(([event, hooks]) =>
    hooks.map((hook) => `  ${event}: ${visibleLine(JSON.stringify(hook))}\n`),
  );
  return `${visibleLine(path)} names these hooks, which run outside of the sandbox:\n${lines.join('')}`;
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
