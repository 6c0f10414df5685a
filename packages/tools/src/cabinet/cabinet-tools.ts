import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import { deleteFromFCTool } from './delete-from-fc.js';
import { fetchFromFCTool } from './fetch-from-fc.js';
import { listFCTool } from './list-fc.js';
import { saveToFCTool } from './save-to-fc.js';
import { storeTools } from './store-values.js';

export interface CabinetToolsOptions {
  readonly documents: DocumentStore;
  /** The user for calls that name no user. Default: such calls cannot use the scope `principal`. */
  readonly principal?: string | undefined;
}

/**
 * The tools for texts and values that outlive a script: saveToFC, fetchFromFC, listFC, deleteFromFC, store.set,
 * store.get, store.list and store.delete. Pass the same `documents` to `codingTools` and `webTools`.
 */
export function cabinetTools({ documents, principal }: CabinetToolsOptions): Tool[] {
  return [
    saveToFCTool(documents),
    fetchFromFCTool(documents),
    listFCTool(documents),
    deleteFromFCTool(documents),
    ...storeTools(documents, principal),
  ];
}
