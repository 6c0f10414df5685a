import { ToolCallError, type DocumentStore, type Tool } from '@toolscript/core/protocol';
import { LOCAL_PRINCIPAL } from '@toolscript/server/runs';
import type { PromptFile, PromptLibrary, SnippetLibrary } from '@toolscript/tools';
import type { Settings } from '../configuration/settings.js';
import { visible } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** The File Cabinet, prompts and snippets. They exist where conversations are stored. */
const CABINET_TOOLS: readonly string[] = [
  'saveToFC',
  'fetchFromFC',
  'listFC',
  'deleteFromFC',
  'store',
  'store.set',
  'store.get',
  'store.list',
  'store.delete',
  'prompts',
  'prompts.save',
  'prompts.get',
  'prompts.list',
  'prompts.delete',
  'snippets',
  'snippets.save',
  'snippets.run',
  'snippets.get',
  'snippets.list',
  'snippets.delete',
];

/** The stored texts of a conversation, and their owners. */
export interface Cabinet {
  readonly documents: DocumentStore;
  /** The workspace whose users share documents. Undefined: they share none. */
  readonly workspace?: string | undefined;
  /** The prompts of files. */
  readonly prompts?: readonly PromptFile[] | undefined;
}

export async function openCabinetTools(cabinet: Cabinet): Promise<Tool[]> {
  const { cabinetTools, promptTools, snippetTools } = await import('@toolscript/tools');
  const { documents, workspace } = cabinet;
  const library = { documents, workspace, principal: LOCAL_PRINCIPAL };
  return [
    ...cabinetTools({ documents, principal: LOCAL_PRINCIPAL }),
    ...promptTools(promptLibrary(cabinet)),
    ...snippetTools(library),
    ...(workspace === undefined ? [] : await savedScripts(library)),
  ];
}

/** The prompts of scripts and of their models. */
export function promptLibrary({ documents, workspace, prompts }: Cabinet): PromptLibrary {
  return { documents, workspace, principal: LOCAL_PRINCIPAL, files: prompts };
}

/** The saved scripts of the user and the workspace. Throws a UsageError if the database fails. */
async function savedScripts(library: SnippetLibrary): Promise<Tool[]> {
  const { loadSnippetTools } = await import('@toolscript/tools');
  try {
    return await loadSnippetTools(library, {});
  } catch (error) {
    throw error instanceof ToolCallError ? new UsageError(visible(error.message)) : error;
  }
}

/** The settings for a command without a conversation: the names of the File Cabinet's tools count as absent. */
export function withoutCabinet(settings: Settings): Settings {
  const { expose, packs, workspaceTools } = settings;
  return {
    ...settings,
    expose: { ...expose, ...(expose.tools && { tools: otherNames(expose.tools) }) },
    packs: Object.fromEntries(
      Object.entries(packs).map(([name, pack]) => [name, { ...pack, tools: otherNames(pack.tools) }]),
    ),
    ...(workspaceTools && { workspaceTools: otherNames(workspaceTools) }),
  };
}

function otherNames(names: readonly string[]): string[] {
  return names.filter((name) => !CABINET_TOOLS.includes(name));
}
