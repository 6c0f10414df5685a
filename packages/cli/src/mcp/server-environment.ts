import { delimiter, dirname, isAbsolute } from 'node:path';
import { isRecord } from '@toolscript/core/internal';
import { noWorkspaceFolder } from '../configuration/locations.js';
import { leadsInto } from '../configuration/workspace-folder.js';
import type { Environment } from '../terminal/screen.js';
import { UsageError } from '../usage-error.js';
import type { McpConfiguration, McpEntry } from './mcp-files.js';
import { narrowedEntry } from './workspace-servers.js';

/** The variable with the number of gateways above a server. Each gateway sets it for the servers that it starts. */
const DEPTH = 'TOOLSCRIPT_MCP_DEPTH';

/** The maximum number of gateways above a gateway. */
const MAX_DEPTH = 1;

/**
 * The entries of the servers, as they are started. Unless an entry sets `cwd`, a program of the workspace's file starts
 * in an empty folder outside of the workspace, and every other program in the folder of the file with its entry. Unless
 * an entry sets PATH, the PATH of its program contains no folder of the workspace.
 */
export function startedEntries(
  servers: McpConfiguration['servers'],
  environment: Environment,
  workspace: string,
): Record<string, unknown> {
  const variables = {
    path: pathOutside(environment, workspace),
    depth: { [DEPTH]: String(depthIn(environment) + 1) },
  };
  const started = ({ entry, path, owner }: McpEntry): unknown => {
    const narrowed = owner === 'workspace' ? narrowedEntry(entry) : entry;
    // The path of a document is relative to its file.
    if (isRecord(narrowed) && 'openapi' in narrowed) return { ...narrowed, cwd: narrowed['cwd'] ?? dirname(path) };
    if (!isProgram(narrowed)) return narrowed;
    // defence: servers-start-outside-workspaces
    const cwd = owner === 'workspace' ? noWorkspaceFolder(environment) : dirname(path);
    return withVariables({ ...narrowed, cwd: narrowed.cwd ?? cwd }, variables);
  };
  return Object.fromEntries(Object.entries(servers).map(([name, one]) => [name, started(one)]));
}

/** Throws a UsageError if gateways start each other without end, because a configuration names its own gateway. */
export function demandShallow(environment: Environment): void {
  // defence: gateway-starts-itself-not-forever
  if (depthIn(environment) > MAX_DEPTH)
    throw new UsageError(
      'The gateway starts itself in a loop, because the mcp.json that it reads names toolscript mcp as a server. Remove that server from the file, or name another file with --config.',
    );
}

function depthIn(environment: Environment): number {
  const depth = Number(environment[DEPTH] ?? 0);
  return Number.isSafeInteger(depth) && depth >= 0 ? depth : MAX_DEPTH + 1;
}

/**
 * The PATH without folders of the workspace; empty if PATH needs no change. Relative folders are removed, because they
 * depend on the current folder.
 */
function pathOutside(environment: Environment, workspace: string): Record<string, string> {
  const folders = (environment['PATH'] ?? '').split(delimiter);
  // defence: servers-start-no-program-of-a-workspace
  const outside = folders.filter((folder) => isAbsolute(folder) && !leadsInto(workspace, folder));
  return outside.length === folders.length ? {} : { PATH: outside.join(delimiter) };
}

function isProgram(entry: unknown): entry is { command: string; env?: unknown; cwd?: unknown } {
  return typeof (entry as { command?: unknown } | null)?.command === 'string';
}

function withVariables(
  entry: { env?: unknown; cwd: unknown },
  { path, depth }: Record<'path' | 'depth', Readonly<Record<string, string>>>,
): object {
  const { env = {} } = entry;
  // An invalid `env` stays, so that it is reported when the entry is checked.
  return typeof env === 'object' && env !== null ? { ...entry, env: { ...path, ...env, ...depth } } : entry;
}
