import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { withFileLock } from '@toolscript/core/internal';
import { isRecord } from '@toolscript/core/internal';
import { parseJson, readTextFile, writeJsonFile } from '../configuration/json-files.js';
import { WORKSPACE_MCP_FILES, type UserFolder } from '../configuration/locations.js';
import { trustedFiles } from '../configuration/trust.js';
import { demandOutside } from '../configuration/workspace-folder.js';
import { shellWord } from '../terminal/own-command.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** The servers of one file, by name. An entry is checked when its server is started. */
export interface McpFile {
  readonly path: string;
  readonly servers: Readonly<Record<string, unknown>>;
  /** The SHA-256 of the file's text. */
  readonly sha256: string;
}

/** A server of the configuration, with its file. */
export interface McpEntry {
  /** The entry of the file, unchanged. The entry is checked when the server is started. */
  readonly entry: unknown;
  readonly path: string;
  /** The owner of the file. The user owns a file that the command line names. */
  readonly owner: 'user' | 'workspace';
}

export interface McpConfiguration {
  /** The servers, by name. */
  readonly servers: Readonly<Record<string, McpEntry>>;
  /**
   * Whether the workspace has a file of servers that is not used, because the user has not trusted its current content.
   */
  readonly isPartial: boolean;
}

export interface McpPlace {
  readonly user: UserFolder;
  /** A real path. */
  readonly workspace: string;
  /** The path of a file that replaces the files of the user and of the workspace. */
  readonly file?: string | undefined;
  /** Called for files and entries that are ignored. */
  readonly warn: (message: string) => void;
}

/** The servers of the user and of a trusted workspace, or those of one file. Throws UsageErrors. */
export async function readMcpConfiguration(place: McpPlace): Promise<McpConfiguration> {
  const { user, workspace, file, warn } = place;
  if (file !== undefined) return mergedConfiguration(undefined, await demandFile(file));
  demandOutside(user.mcpFile, workspace);
  const own = await readMcpFile(user.mcpFile);
  const { isPartial, file: theirs } = await readTrustedFile(place);
  const names = Object.keys(own?.servers ?? {});
  const taken = Object.keys(theirs?.servers ?? {}).filter((name) => names.includes(name));
  for (const name of taken)
    warn(
      `${visibleLine(theirs!.path)}: the MCP server ${visibleLine(name)} is ignored, because your own ${visibleLine(user.mcpFile)} has a server with the same name. Rename one of them.`,
    );
  return { ...mergedConfiguration(theirs, own), isPartial };
}

/**
 * The workspace's file of MCP servers; undefined if the workspace has none. Throws a UsageError if it has two.
 */
export async function readWorkspaceFile(workspace: string): Promise<McpFile | undefined> {
  const found: McpFile[] = [];
  for (const name of WORKSPACE_MCP_FILES) {
    const file = await readMcpFile(join(workspace, name));
    if (file !== undefined) found.push(file);
  }
  if (found.length < 2) return found[0];
  throw new UsageError(`Both ${found.map(({ path }) => visibleLine(path)).join(' and ')} exist. Keep one of them.`);
}

/** The servers of a file; undefined if the file does not exist. Throws a UsageError if the file is not valid. */
async function readMcpFile(path: string): Promise<McpFile | undefined> {
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

/** The workspace's file, if the user has trusted its current content. */
async function readTrustedFile({
  user,
  workspace,
  warn,
}: McpPlace): Promise<{ file?: McpFile | undefined; isPartial: boolean }> {
  const found = await readWorkspaceFile(workspace);
  if (found === undefined) return { isPartial: false };
  const { mcp: trusted } = await trustedFiles(user, workspace);
  // defence: workspace-servers-need-trust
  const counts = trusted === found.sha256;
  if (counts) return { file: found, isPartial: false };
  const why = trusted === undefined ? 'you have not trusted it' : 'it has changed since you trusted it';
  warn(
    `${visibleLine(found.path)} is ignored, because ${why}. Read it; to trust it: toolscript trust ${shellWord(workspace)}`,
  );
  return { isPartial: true };
}

/** The user's entries replace the workspace's entries with the same names. */
function mergedConfiguration(theirs: McpFile | undefined, own: McpFile | undefined): McpConfiguration {
  const found: [name: string, server: McpEntry][] = [];
  for (const [file, owner] of [[theirs, 'workspace'] as const, [own, 'user'] as const])
    for (const [name, entry] of Object.entries(file?.servers ?? {}))
      found.push([name, { entry, path: file!.path, owner }]);
  return { servers: Object.fromEntries(found), isPartial: false };
}

function serversIn(value: unknown, path: string): Record<string, unknown> {
  const { mcpServers, servers } = (isRecord(value) ? value : {}) as Record<string, unknown>;
  const found = mcpServers ?? servers;
  if (isRecord(found)) return found;
  throw new UsageError(
    `${visibleLine(path)} names no MCP servers. Write: { "mcpServers": { "NAME": { "command": "…", "args": [] } } } or { "url": "https://…" } for NAME.`,
  );
}

type Servers = Readonly<Record<string, unknown>>;

/**
 * Changes the servers in a file, and creates a missing file. The other members of the file stay. Concurrent changes by
 * several processes are all kept. Throws a UsageError if the file cannot be read or written.
 */
export async function changeServers(path: string, change: (servers: Servers) => Servers): Promise<void> {
  await withFileLock(path, async () => {
    const text = await readTextFile(path);
    const found = await readMcpFile(path);
    const whole = text === undefined ? {} : (parseJson(text, path) as Record<string, unknown>);
    const member = whole['mcpServers'] === undefined && whole['servers'] !== undefined ? 'servers' : 'mcpServers';
    await writeJsonFile(path, { ...whole, [member]: change(found?.servers ?? {}) });
  });
}

/** A string, or one of the characters that give JSON its structure. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gsu;

/**
 * The first name that occurs twice in the servers of a configuration. JSON.parse keeps only the last of two entries
 * with the same name. `text` is valid JSON.
 */
function repeatedName(text: string): { name: string; line: number } | undefined {
  const path: string[] = [];
  const seen = new Set<string>();
  let last = '';
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') path.push(last);
    else if (token === '}' || token === ']') path.pop();
    const isName = token === ':' && path.length === 2 && (path[1] === 'mcpServers' || path[1] === 'servers');
    if (isName && seen.has(last)) return { name: last, line: text.slice(0, index).split('\n').length };
    if (isName) seen.add(last);
    last = token.startsWith('"') ? (JSON.parse(token) as string) : token === ':' ? last : '';
  }
  return undefined;
}
