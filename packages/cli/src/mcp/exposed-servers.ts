import type { Settings } from '../configuration/settings.js';

/** Whether a name in a list of tools means tools of MCP servers. */
export function isOfMcp(name: string): boolean {
  return name === 'mcp' || name.startsWith('mcp.');
}

/** Whether scripts may get any tool of an MCP server. Otherwise none is started. */
export function exposesMcp({ expose, packs, workspaceTools }: Pick<Settings, 'expose' | 'packs' | 'workspaceTools'>) {
  if (workspaceTools !== undefined && !workspaceTools.some(isOfMcp)) return false;
  if (expose.pack === undefined && expose.tools === undefined) return true;
  if (expose.tools?.some(isOfMcp) === true) return true;
  // A pack may extend any other one.
  const inPacks = Object.values(packs).some(({ tools }) => tools.some(isOfMcp));
  return expose.pack === 'all' || (expose.pack !== undefined && inPacks);
}
