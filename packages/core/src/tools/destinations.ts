import type { JsonObject } from '../protocol/json.js';
import type { Tool } from '../protocol/tools.js';

/** Names of arguments that say where something goes or what is run, without case and underscores. */
const DESTINATIONS: ReadonlySet<string> = new Set(
  (
    'to cc bcc recipient recipients email emails address addresses phone phonenumber participants ' +
    'attendees invitees user username userid assignee channel channelid room url urls uri host hostname ' +
    'endpoint webhook domain repo repository owner branch path paths file filename filepath dir dirpath ' +
    'directory source destination target command cmd args argv cwd account accountnumber accountid iban ' +
    'wallet'
  ).split(' '),
);

/**
 * Guards the destinations of tools with effects: their arguments with names such as `to`, `url`, `path` and `command`.
 * If untrusted text may have chosen such an argument, a user must decide about the call. Tools that only read, and tools
 * with a `flow` of their own, stay as they are.
 *
 * @example
 *
 * ```ts
 * const harness = createHarness({ tools: guardDestinations(tools) });
 * ```
 */
export function guardDestinations(tools: readonly Tool[]): Tool[] {
  return tools.map((tool) => {
    if (tool.flow !== undefined || tool.effect === 'read') return tool;
    const trusted = Object.keys(schemaProperties(tool.inputSchema)).filter((name) =>
      DESTINATIONS.has(name.replaceAll(/[_-]/gu, '').toLowerCase()),
    );
    return trusted.length === 0 ? tool : Object.freeze({ ...tool, flow: Object.freeze({ trusted }) });
  });
}

function schemaProperties({ properties }: JsonObject): object {
  return typeof properties === 'object' && properties !== null ? properties : {};
}
