import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import { LOCAL_PRINCIPAL } from '@toolscript/server/runs';
import type { Settings } from '../configuration/settings.js';

/** The tools of the File Cabinet. They exist where conversations are stored. */
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
];

export async function openCabinetTools(documents: DocumentStore): Promise<Tool[]> {
  const { cabinetTools } = await import('@toolscript/tools');
  return cabinetTools({ documents, principal: LOCAL_PRINCIPAL });
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
