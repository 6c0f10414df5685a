import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { WORKSPACE_MCP_FILES, type UserFolder } from '../configuration/locations.js';
import { demandOutside } from '../configuration/own-paths.js';
import { parseJson, readTextFile } from '../configuration/read-json.js';
import { trustedMcp } from '../configuration/trust.js';
import { shellWord } from '../terminal/shell-word.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { repeatedName } from './repeated-name.js';

/** The servers of one file, by name. Their entries are checked when they are started. */
export interface McpFile {
  readonly path: string;
  readonly servers: Readonly<Record<string, unknown>>;
  /** The hash of its text. */
  readonly sha256: string;
}

/** The servers that count, by name, and the files that name them. */
export interface McpConfiguration {
  readonly servers: Readonly<Record<string, unknown>>;
  readonly files: readonly McpFile[];
}

export interface McpPlace {
  readonly user: UserFolder;
  /** Without links. */
  readonly workspace: string;
  /** In place of the files of the user and of the workspace. */
  readonly file?: string | undefined;
  /** Receives what was found and does not count. */
  readonly warn: (message: string) => void;
}

/** The user's servers and those of a workspace that is trusted; or those of one file. Throws UsageErrors. */
export async function readMcpConfiguration(place: McpPlace): Promise<McpConfiguration> {
  const { user, workspace, file, warn } = place;
  if (file !== undefined) return configurationOf([await demandFile(file)]);
  demandOutside(user.mcpFile, workspace);
  const own = await readMcpFile(user.mcpFile);
  const theirs = await readTrustedFile(place);
  const names = Object.keys(own?.servers ?? {});
  const taken = Object.keys(theirs?.servers ?? {}).filter((name) => names.includes(name));
  for (const name of taken)
    warn(
      `${visibleLine(theirs!.path)}: the MCP server ${visibleLine(name)} does not count, because your own ${visibleLine(user.mcpFile)} has one of that name. Rename one of them.`,
    );
  // The user's own entries come last, so that a workspace takes no name.
  return configurationOf([theirs, own].filter((one) => one !== undefined));
}

/** The file with which a workspace names MCP servers; undefined if there is none. Throws a UsageError for two. */
export async function readWorkspaceFile(workspace: string): Promise<McpFile | undefined> {
  const found: McpFile[] = [];
  for (const name of WORKSPACE_MCP_FILES) {
    const file = await readMcpFile(join(workspace, name));
    if (file !== undefined) found.push(file);
  }
  if (found.length < 2) return found[0];
  throw new UsageError(`There are ${found.map(({ path }) => visibleLine(path)).join(' and ')}. Keep one of them.`);
}

/** Undefined if there is no such file. Throws a UsageError for one that names no servers. */
export async function readMcpFile(path: string): Promise<McpFile | undefined> {
  const text = await readTextFile(path);
  if (text === undefined) return undefined;
  const servers = serversIn(parseJson(text, path), path);
  const repeated = repeatedName(text);
  if (repeated !== undefined)
    throw new UsageError(
      `${visibleLine(path)}, line ${repeated.line}: two MCP servers have the name ${visibleLine(repeated.name)}. Rename one of them.`,
    );
  return { path, servers, sha256: createHash('sha256').update(text).digest('hex') };
}

async function demandFile(path: string): Promise<McpFile> {
  const file = await readMcpFile(path);
  if (file !== undefined) return file;
  throw new UsageError(`There is no file ${visibleLine(path)}. Name one with { "mcpServers": { … } }.`);
}

async function readTrustedFile({ user, workspace, warn }: McpPlace): Promise<McpFile | undefined> {
  const found = await readWorkspaceFile(workspace);
  if (found === undefined) return undefined;
  const trusted = await trustedMcp(user, workspace);
  // defence: workspace-servers-need-trust, without it: const counts = trusted !== found.path;
  const counts = trusted === found.sha256;
  if (counts) return found;
  const why = trusted === undefined ? 'you have not trusted it' : 'it has changed since you trusted it';
  warn(
    `${visibleLine(found.path)} does not count, because ${why}. Read it; to trust it: toolscript trust ${shellWord(workspace)}`,
  );
  return undefined;
}

function configurationOf(files: readonly McpFile[]): McpConfiguration {
  const servers = files.flatMap(({ path, servers: named }) =>
    Object.entries(named).map(([name, entry]) => [name, startedBeside(path, entry)]),
  );
  return { servers: Object.fromEntries(servers), files };
}

/**
 * A program starts in the folder of the file that names it, unless the entry says otherwise: in the current folder, npx
 * and others would run code of a workspace that nobody trusts.
 */
function startedBeside(path: string, entry: unknown): unknown {
  // defence: servers-start-outside-workspaces
  if (!isRecord(entry) || typeof entry['command'] !== 'string' || entry['cwd'] !== undefined) return entry;
  return { ...entry, cwd: dirname(path) };
}

function serversIn(value: unknown, path: string): Record<string, unknown> {
  const { mcpServers, servers } = (isRecord(value) ? value : {}) as Record<string, unknown>;
  const found = mcpServers ?? servers;
  if (isRecord(found)) return found;
  throw new UsageError(
    `${visibleLine(path)} names no MCP servers. Write: { "mcpServers": { "NAME": { "command": "…", "args": [] } } } or { "url": "https://…" } for NAME.`,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
