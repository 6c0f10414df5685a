import { present } from '@toolscript/core/internal';
import type { McpEvent, McpOptions, McpServers, UntrustedTool } from '@toolscript/mcp';
import { dataFolder, userFolder } from '../configuration/locations.js';
import type { Settings } from '../configuration/settings.js';
import { emptyFolder } from '../configuration/workspace-folder.js';
import { exposesMcp } from '../harness/exposure.js';
import { ownCommand, shellWord } from '../terminal/own-command.js';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { readMcpConfiguration, type McpConfiguration } from './mcp-files.js';
import { startedEntries } from './server-environment.js';
import { refusalInside } from './workspace-servers.js';

type ServerSettings = Pick<Settings, 'cwd' | 'flow' | 'mode' | 'mcpConfig' | 'expose' | 'packs' | 'workspaceTools'>;

export interface OpenServersOptions extends Pick<McpOptions, 'waitMs' | 'signal'> {
  readonly environment: Environment;
  /** Answers questions of servers. If it is undefined, questions are refused. */
  readonly onElicitation?: McpOptions['onElicitation'] | undefined;
  /** Called after the tools for scripts have changed. */
  readonly onTools?: (() => void) | undefined;
  /** See `Settings`. */
  readonly flow?: 'destinations' | undefined;
  /** True: servers whose tools are known from an earlier start are started when they are needed. */
  readonly startsLater?: boolean | undefined;
  /** Called with the reason why the workspace's servers, or one of them, are not used. */
  readonly onIgnored?: ((reason: string) => void) | undefined;
  /** Called with messages for the user. */
  readonly warn: (message: string) => void;
}

/**
 * Starts the MCP servers of the settings. Returns undefined if there are none, or if scripts can use none of them. A
 * server that fails is reported, and the other servers work. Throws a UsageError for a file that cannot be read.
 */
export async function openServers(
  settings: ServerSettings,
  options: OpenServersOptions,
): Promise<McpServers | undefined> {
  if (settings.mode === 'disabled' || !exposesMcp(settings)) return undefined;
  const { environment, onIgnored } = options;
  const warn = (message: string) => {
    options.warn(message);
    onIgnored?.(message);
  };
  const user = userFolder(environment);
  const { servers } = await readMcpConfiguration({ user, workspace: settings.cwd, file: settings.mcpConfig, warn });
  return connectServers(servers, settings.cwd, { ...options, ...present({ flow: settings.flow }) });
}

/** Starts the given servers. Returns undefined if there are none. */
export async function connectServers(
  servers: McpConfiguration['servers'],
  workspace: string,
  { environment, warn, onTools, onElicitation, startsLater, ...options }: OpenServersOptions,
): Promise<McpServers | undefined> {
  if (Object.keys(servers).length === 0) return undefined;
  const { connectMcpServers, fileCatalogue, fileShapes, oauthFile, serversWithLogin } = await import('@toolscript/mcp');
  const { entries, safeguards } = await prepareServers(servers, environment, workspace);
  const { mcpCatalogueFolder, mcpLoginsFile, mcpShapesFolder } = dataFolder(environment);
  const catalogue = fileCatalogue(mcpCatalogueFolder);
  const known = await serversWithLogin(mcpLoginsFile);
  const logins = oauthFile({ path: mcpLoginsFile, redirectUrl: NO_REDIRECT, onRedirect: () => {} });
  const report = serverReporter(warn);
  return connectMcpServers(
    { mcpServers: entries },
    {
      ...options,
      ...safeguards,
      ...(onElicitation === undefined ? {} : { onElicitation }),
      catalogue: startsLater === true ? catalogue : { ...catalogue, read: async () => undefined },
      resultShapes: fileShapes(mcpShapesFolder),
      // Only `toolscript mcp login` registers this program at a server.
      authProvider: (server) => (known.has(server) ? logins(server) : undefined),
      howToLogIn: (server) => `${ownCommand()} mcp login ${shellWord(server)}`,
      howToTrust: (server) => `${ownCommand()} mcp trust ${shellWord(server)}`,
      roots: [workspace],
      onEvent: (event) => {
        report(event);
        if (event.type === 'tools') onTools?.();
      },
    },
  );
}

export interface PreparedServers {
  readonly entries: Readonly<Record<string, unknown>>;
  readonly safeguards: Pick<McpOptions, 'environment' | 'refuse' | 'trustStore'>;
}

/** The entries of the servers to start, and the options with which every command starts them. */
export async function prepareServers(
  servers: McpConfiguration['servers'],
  environment: Environment,
  workspace: string,
): Promise<PreparedServers> {
  const { fileTrustStore } = await import('@toolscript/mcp');
  const { mcpFile, mcpTrustFile } = userFolder(environment);
  const trusted = fileTrustStore(mcpTrustFile);
  // A file other than the user's own may use the same name for a different server.
  const serverKey = (name: string) => {
    const path = servers[name]?.path ?? mcpFile;
    return path === mcpFile ? name : `${name} of ${path}`;
  };
  const startFolder = await emptyFolder(environment);
  return {
    entries: startedEntries(servers, environment, workspace),
    safeguards: {
      environment,
      refuse: (server) =>
        servers[server.name]?.owner === 'workspace' ? refusalInside({ workspace, startFolder }, server) : undefined,
      trustStore: {
        read: (name) => trusted.read(serverKey(name)),
        update: (name, change) => trusted.update(serverKey(name), change),
      },
    },
  };
}

/** A redirect address at which nothing listens: only `toolscript mcp login` waits for the browser. */
const NO_REDIRECT = 'http://127.0.0.1/callback';

/** Reports each problem of a server once. */
function serverReporter(warn: (message: string) => void): (event: McpEvent) => void {
  const reported = new Set<string>();
  const report = (message: string) => {
    if (!reported.has(message)) warn(visibleLine(message));
    reported.add(message);
  };
  return (event) => {
    if (event.type === 'state' && event.problem !== undefined && ['waiting', 'failed'].includes(event.state))
      report(event.problem);
    if (event.type !== 'untrusted') return;
    const { server, tools } = event;
    const toTrust = `To review and trust them: ${ownCommand()} mcp trust ${shellWord(server)}`;
    if (tools.some(({ change }) => change === 'other-server'))
      return report(
        `The MCP server "${server}" has a different command or address than the one that you trusted, so scripts do not get its tools. ${toTrust}`,
      );
    const names = tools.map(({ name, change }) => `${name} (${HELD_BACK[change]})`);
    report(
      `The MCP server "${server}" offers tools that you have not trusted, so scripts do not get them: ${names.join(', ')}. ${toTrust}`,
    );
  };
}

/** The reason why scripts do not get an untrusted tool, in a few words. */
export const HELD_BACK: Readonly<Record<UntrustedTool['change'], string>> = {
  added: 'new',
  changed: 'changed',
  'other-server': 'of a different server',
};

/** The reason why scripts do not get an untrusted tool, as a clause of a sentence. */
export const HELD_BACK_BECAUSE: Readonly<Record<UntrustedTool['change'], string>> = {
  added: 'it is new',
  changed: 'it has changed',
  'other-server': 'its server has a different command or address than the one that you trusted',
};
