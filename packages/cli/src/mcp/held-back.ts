import type { UntrustedTool } from '@toolscript/mcp';

/** Why a tool is held back, in one word or a few. */
export const HELD_BACK: Readonly<Record<UntrustedTool['change'], string>> = {
  added: 'new',
  changed: 'changed',
  'other-server': 'a tool of another server than the one that you trusted under this name',
};
