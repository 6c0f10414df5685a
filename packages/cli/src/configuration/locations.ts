import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** The name of a workspace's own configuration file. */
export const WORKSPACE_FILE = 'toolscript.config.json';

/**
 * The files in which a workspace lists MCP servers. A workspace may have only one of them; other programs use the
 * second name.
 */
export const WORKSPACE_MCP_FILES = ['mcp.json', '.mcp.json'] as const;

/** The folder of a workspace's own agents, one JSON file each. */
export const WORKSPACE_AGENTS = '.toolscript/agents';

/** The folder of a workspace's own prompts, one Markdown file each. */
export const WORKSPACE_PROMPTS = '.toolscript/prompts';

/** The location of the user's own settings. */
export interface UserFolder {
  readonly path: string;
  readonly configFile: string;
  /** The configuration in TypeScript. Either this file or `configFile` may exist, but not both. */
  readonly configCodeFile: string;
  /** The user's own agents, one file each. */
  readonly agentsFolder: string;
  /** The user's own prompts, one Markdown file each. */
  readonly promptsFolder: string;
  /** The trusted workspaces, one file each. */
  readonly trustFolder: string;
  /** The rules of "always allow", a folder for each workspace. */
  readonly rulesFolder: string;
  /** The user's MCP servers. */
  readonly mcpFile: string;
  /** The tools of MCP servers that the user trusts. */
  readonly mcpTrustFile: string;
}

/**
 * `$XDG_CONFIG_HOME/toolscript`, `%APPDATA%\toolscript`, or `~/.config/toolscript`. Throws a UsageError if there is no
 * home folder.
 */
export function userFolder(environment: Environment, platform: NodeJS.Platform = process.platform): UserFolder {
  const path = join(baseFolder(environment, platform), 'toolscript');
  return {
    path,
    configFile: join(path, 'config.json'),
    configCodeFile: join(path, 'config.ts'),
    agentsFolder: join(path, 'agents'),
    promptsFolder: join(path, 'prompts'),
    trustFolder: join(path, 'trusted'),
    rulesFolder: join(path, 'rules'),
    mcpFile: join(path, 'mcp.json'),
    mcpTrustFile: join(path, 'mcp-trust.json'),
  };
}

/** The location of the data that Toolscript stores for the user. */
export interface DataFolder {
  readonly path: string;
  /** Scripts that are suspended, were interrupted, or ended recently. */
  readonly scriptsFolder: string;
  /** The origin of each stored script. */
  readonly originsFolder: string;
  /** The earlier versions of the files that each stored script changed. */
  readonly changesFolder: string;
  /** The database of the conversations. */
  readonly databaseFile: string;
  readonly keyFile: string;
  readonly auditFile: string;
  /** Audit entries of servers that share a database. The entries stay here after they are copied to the database. */
  readonly serviceAuditFile: string;
  /** The token of the user's own server. */
  readonly tokenFile: string;
  /** The API keys of the user's own server, one file each. */
  readonly keysFolder: string;
  /** The keys of model providers that `toolscript connect` stored. */
  readonly providerKeysFile: string;
  /** Registrations and tokens of logins to MCP servers. */
  readonly mcpLoginsFile: string;
  /** The tools that MCP servers listed last. */
  readonly mcpCatalogueFolder: string;
  /** The texts that gateways showed last to their clients. */
  readonly mcpOffersFile: string;
  /** The shapes of the results of MCP servers' tools. */
  readonly mcpShapesFolder: string;
  /** Web pages of the last 24 hours. */
  readonly webCacheFolder: string;
}

/**
 * `$XDG_DATA_HOME/toolscript`, `%LOCALAPPDATA%\toolscript`, `~/Library/Application Support/toolscript`, or
 * `~/.local/share/toolscript`. Throws a UsageError if there is no home folder.
 */
export function dataFolder(environment: Environment, platform: NodeJS.Platform = process.platform): DataFolder {
  const path = join(baseDataFolder(environment, platform), 'toolscript');
  return {
    path,
    scriptsFolder: join(path, 'scripts'),
    originsFolder: join(path, 'origins'),
    changesFolder: join(path, 'changes'),
    databaseFile: join(path, 'toolscript.db'),
    keyFile: join(path, 'suspension.key'),
    auditFile: join(path, 'audit.jsonl'),
    serviceAuditFile: join(path, 'service-audit.jsonl'),
    tokenFile: join(path, 'server.token'),
    keysFolder: join(path, 'keys'),
    providerKeysFile: join(path, 'provider-keys.json'),
    mcpLoginsFile: join(path, 'mcp-logins.json'),
    mcpCatalogueFolder: join(path, 'mcp-catalogue'),
    mcpOffersFile: join(path, 'mcp-offers.json'),
    mcpShapesFolder: join(path, 'mcp-shapes'),
    webCacheFolder: join(path, 'web-cache'),
  };
}

/** The path of an empty folder in the user's data: the workspace of scripts that have no other workspace. */
export function noWorkspaceFolder(environment: Environment): string {
  return join(dataFolder(environment).path, 'no-workspace');
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

/**
 * The absolute path of the home folder. An empty variable counts as unset. Throws a UsageError if there is no home
 * folder, or if its path is relative and could therefore lead into the workspace.
 */
function homeFolder(environment: Environment, platform: NodeJS.Platform): string {
  const variable = platform === 'win32' ? 'USERPROFILE' : 'HOME';
  const named = environment[variable] ?? '';
  const home = named === '' ? accountHome() : named;
  // defence: home-is-absolute
  if (home !== undefined && isAbsolute(home)) return home;
  const cause =
    named === ''
      ? `${variable} is not set, and your account has no home folder`
      : `${variable} is "${visibleLine(named)}"`;
  throw new UsageError(
    `Your own configuration and data cannot be found: ${cause}. Set ${variable} to the absolute path of a folder, or set XDG_CONFIG_HOME and XDG_DATA_HOME.`,
  );
}

/** The home folder of the user's account; undefined if there is no account, as in many containers. */
function accountHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined;
  }
}
