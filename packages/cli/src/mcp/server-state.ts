import type { McpServerStatus } from '@toolscript/mcp';
import type { Check } from '../doctor/checks.js';
import { ownCommand, shellWord } from '../terminal/own-command.js';
import { countWithNoun } from '../view/values.js';
import { HELD_BACK_BECAUSE } from './open-servers.js';

/** The state of a server for the user: whether it answers, its tools, and the tools that are held back or omitted. */
export function serverState(server: McpServerStatus): Omit<Check, 'name'> {
  const { name, state, problem, untrusted, skipped } = server;
  if (state !== 'connected') {
    const detail = problem ?? `The MCP server "${name}" is ${state}.`;
    return { status: 'warning', detail, fix: `To check it again: ${ownCommand()} mcp test ${shellWord(name)}` };
  }
  const notes = [
    ...untrusted.map((tool) => `${tool.name} is held back: ${HELD_BACK_BECAUSE[tool.change]}`),
    ...skipped.map((tool) => `${tool.name} is ignored: ${tool.reason}`),
    ...(server.incomplete === undefined ? [] : [server.incomplete]),
  ];
  const unchecked = server.notes.map((tool) => `${tool.name}: ${tool.notes.join(' ')}`);
  const detail = [serverOffer(server), ...notes, ...unchecked].join('; ');
  if (notes.length === 0) return { status: 'ok', detail };
  const fix = `${ownCommand()} mcp trust ${shellWord(name)}`;
  return {
    status: 'warning',
    detail,
    ...(untrusted.length === 0 ? {} : { fix: `To review and trust the tools that are held back: ${fix}` }),
  };
}

/** The number of a server's tools, such as `1 tool` or `2 tools`. */
export function toolCount({ tools }: Pick<McpServerStatus, 'tools'>): string {
  return countWithNoun(tools.length, 'tool');
}

function serverOffer(server: McpServerStatus): string {
  const { version, protocolVersion, supports } = server;
  const program = version === undefined ? 'connected' : `${version.name} ${version.version}`;
  const more = supports.length === 0 ? '' : `, supports ${supports.join(', ')}`;
  return `${program}, protocol ${protocolVersion ?? 'unknown'}, ${toolCount(server)}${more}`;
}
