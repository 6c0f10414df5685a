import type { ToolKind } from '@agentclientprotocol/sdk';
import type { ToolEffect } from '@toolscript/core/protocol';

const KINDS: Readonly<Record<string, ToolKind>> = {
  writeFile: 'edit',
  applyPatch: 'edit',
  fileSearch: 'search',
  grepFiles: 'search',
  webSearch: 'search',
  fetchUrl: 'fetch',
  http: 'fetch',
  exec: 'execute',
  shell: 'execute',
  updatePlan: 'think',
};

/** The kind of a call, which decides the icon that an editor shows. */
export function toolKind(tool: string, effect?: ToolEffect): ToolKind {
  return KINDS[tool] ?? (effect === 'read' ? 'read' : 'other');
}
