import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { ServerToStart } from '@toolscript/mcp';
import { leadsInto } from '../configuration/real-path.js';
import { ownCommand } from '../terminal/own-command.js';

/** The entry without its `allow`: a workspace only narrows what a script may do. */
export function narrowedEntry(entry: unknown): unknown {
  if (!isRecord(entry) || !isRecord(entry['tools'])) return entry;
  // defence: workspace-servers-only-narrow, without it: const tools = Object.entries(entry['tools']);
  const tools = Object.entries(entry['tools']).filter(([, action]) => action !== 'allow');
  return { ...entry, tools: Object.fromEntries(tools) };
}

/**
 * Why a program must not be started for a workspace, as the end of a sentence; undefined if it may be. Scripts can
 * change all files of a workspace, and a server runs outside of the sandbox. `workspace` has no links.
 */
export function refusalInside(workspace: string, { name, transport }: ServerToStart): string | undefined {
  if (transport.type !== 'stdio') return undefined;
  const { command, args, env, cwd } = transport;
  const words = [command, ...args, ...Object.values(env)];
  const named = words.find((word) => namesPlaceIn(workspace, word)) ?? cwdIn(workspace, cwd);
  // defence: workspace-servers-run-nothing-of-it, without it: if (workspace !== '') return undefined;
  if (named === undefined) return undefined;
  return `it uses ${JSON.stringify(named)} in the workspace, where scripts can change files, and servers run outside of the sandbox; if you accept that, add the server to your own mcp.json: ${ownCommand()} mcp add ${name} -- COMMAND`;
}

/** Whether a word, or its part after `=`, is a path in the workspace, or contains the workspace's own path. */
function namesPlaceIn(workspace: string, word: string): boolean {
  if (word.includes(workspace)) return true;
  return [word, word.slice(word.indexOf('=') + 1)].some((path) => {
    if (isAbsolute(path)) return leadsInto(workspace, path);
    return isRelativePath(path) && existsSync(resolve(workspace, path));
  });
}

function cwdIn(workspace: string, cwd: string | undefined): string | undefined {
  return cwd !== undefined && leadsInto(workspace, resolve(workspace, cwd)) ? cwd : undefined;
}

function isRelativePath(word: string): boolean {
  return word.startsWith('.') || /[/\\]/u.test(word);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
