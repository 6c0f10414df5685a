import { oneLine } from '../connection/readable.js';
import type { McpServerStatus } from './options.js';

const MAX_NOTICE_LENGTH = 500;
const MAX_NAMES = 10;
const MAX_NAME_LENGTH = 40;

/**
 * A sentence for each reason why tools of a server are missing, for models. `howToTrust`: returns the way to trust the
 * tools of a server, such as a command. `nothingFound`: tools are also missing of a server that still connects, although
 * its tools of an earlier connection are there.
 */
export function serverNotices(
  servers: readonly McpServerStatus[],
  howToTrust: ((server: string) => string) | undefined,
  nothingFound = false,
): string[] {
  return servers
    .flatMap((server) => [
      stateNotice(server, nothingFound),
      untrustedNotice(server, howToTrust),
      skippedNotice(server),
    ])
    .flatMap((notice) => (notice === undefined ? [] : [oneLine(notice, MAX_NOTICE_LENGTH)]));
}

function stateNotice({ name, state, problem, tools }: McpServerStatus, nothingFound: boolean): string | undefined {
  const isKnown = state === 'connecting' && tools.length > 0 && !nothingFound;
  if (state === 'connected' || state === 'idle' || isKnown) return undefined;
  if (state === 'connecting' || problem === undefined)
    return `The MCP server "${name}" is still connecting, so its tools may be missing. Search again in a few seconds.`;
  return problem;
}

function untrustedNotice(
  { name, untrusted }: McpServerStatus,
  howToTrust: ((server: string) => string) | undefined,
): string | undefined {
  if (untrusted.length === 0) return undefined;
  const way = howToTrust === undefined ? '' : ` (${howToTrust(name)})`;
  return `${countedTools(untrusted.length, name)} cannot be called until the user trusts them${way}: ${shownNames(untrusted)}.`;
}

function skippedNotice({ name, skipped }: McpServerStatus): string | undefined {
  if (skipped.length === 0) return undefined;
  return `${countedTools(skipped.length, name)} could not be read, so scripts cannot call them: ${shownNames(skipped)}.`;
}

const countedTools = (count: number, server: string) =>
  `${count} tool${count === 1 ? '' : 's'} of the MCP server "${server}"`;

function shownNames(tools: readonly { readonly name: string }[]): string {
  const names = tools.slice(0, MAX_NAMES).map(({ name }) => oneLine(name, MAX_NAME_LENGTH));
  return tools.length > MAX_NAMES ? `${names.join(', ')} and ${tools.length - MAX_NAMES} more` : names.join(', ');
}
