import type { UntrustedTool } from '@toolscript/mcp';

/** The reason why a tool is held back, in a few words. */
export const HELD_BACK: Readonly<Record<UntrustedTool['change'], string>> = {
  added: 'new',
  changed: 'changed',
  'other-server': 'of a different server',
};

/** The same reasons as clauses of a sentence. */
export const HELD_BACK_BECAUSE: Readonly<Record<UntrustedTool['change'], string>> = {
  added: 'it is new',
  changed: 'it has changed',
  'other-server': 'its server has a different command or address than the one that you trusted',
};
