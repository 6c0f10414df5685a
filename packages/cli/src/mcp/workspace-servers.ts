import { isRecord } from '@toolscript/core/internal';
import type { ServerToStart } from '@toolscript/mcp';
import { namesPlaceIn } from '../configuration/names-place.js';
import { ownCommand } from '../terminal/own-command.js';

/**
 * The entry without the members of `tools` whose value is `allow`, because a workspace may only narrow the permissions
 * of scripts.
 */
export function narrowedEntry(entry: unknown): unknown {
  if (!isRecord(entry) || !isRecord(entry['tools'])) return entry;
  // defence: workspace-servers-only-narrow
  const tools = Object.entries(entry['tools']).filter(([, action]) => action !== 'allow');
  return { ...entry, tools: Object.fromEntries(tools) };
}

/**
 * Returns why a workspace's server must not be started, as the end of a sentence; undefined if it may be started.
 * Scripts can change all files of a workspace, and a server runs outside of the sandbox. `workspace` is a real path.
 * `startFolder` is the folder in which the workspace's servers start.
 */
export function refusalInside(
  { workspace, startFolder }: { workspace: string; startFolder: string },
  { name, transport }: ServerToStart,
): string | undefined {
  if (transport.type !== 'stdio') return undefined;
  const { command, args, env, cwd } = transport;
  // defence: workspace-servers-start-elsewhere
  const place = cwd === startFolder ? undefined : 'it sets "cwd"';
  const named = [command, ...args, ...Object.values(env)].find((word) => namesPlaceIn(workspace, word));
  // defence: workspace-servers-run-nothing-of-it
  const path = named === undefined ? undefined : `it uses ${JSON.stringify(named)}, which is in the workspace`;
  const reason = path ?? place;
  return reason === undefined
    ? undefined
    : `${reason}; scripts can change files in the workspace, and servers run outside of the sandbox. If you accept this risk, add the server to your own mcp.json: ${ownCommand()} mcp add ${name} -- COMMAND`;
}
