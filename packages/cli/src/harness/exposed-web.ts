import { present, type DocumentStore, type Tool } from '@toolscript/core/protocol';
import { dataFolder } from '../configuration/locations.js';
import type { Settings } from '../configuration/settings.js';
import type { Environment } from '../terminal/style.js';

/** The web tools. They exist only if the user exposes one of them, or a pack that contains one. */
export const WEB_TOOLS: readonly string[] = ['webSearch', 'fetchUrl', 'http'];

const WEB_PACK: readonly string[] = ['webSearch', 'fetchUrl'];

type Exposing = Pick<Settings, 'expose' | 'packs'>;

/** The web tools that the user's exposure names. `all` names none of them. */
export function namedWebTools({ expose, packs }: Exposing): readonly string[] {
  const named = new Set([...(expose.tools ?? []), ...toolsOfPack(expose.pack, packs)]);
  return WEB_TOOLS.filter((name) => named.has(name));
}

/** Whether any pack of the user names a tool of the web, so that it must be known. */
export function packsNameWeb({ packs }: Exposing): boolean {
  return Object.values(packs).some(({ tools }) => tools.some((name) => WEB_TOOLS.includes(name)));
}

function toolsOfPack(name: string | undefined, packs: Settings['packs'], above: readonly string[] = []): string[] {
  if (name === undefined || above.includes(name)) return [];
  if (name === 'research') return [...WEB_PACK];
  if (!Object.hasOwn(packs, name)) return [];
  const { tools, extends: parents = [] } = packs[name]!;
  return [...tools, ...[parents].flat().flatMap((parent) => toolsOfPack(parent, packs, [...above, name]))];
}

/** The tools of the web, with the keys of the environment and a cache in the user's own data. */
export async function openWebTools(
  { web }: Settings,
  environment: Environment,
  documents?: DocumentStore,
): Promise<Tool[]> {
  const { webTools, fileWebCache } = await import('@toolscript/tools');
  return webTools({
    perplexity: { apiKey: environment['PERPLEXITY_API_KEY'] },
    firecrawl: { apiKey: environment['FIRECRAWL_API_KEY'] },
    allow: web?.allow ?? [],
    ...present({ documents }),
    cache: fileWebCache(dataFolder(environment).webCacheFolder),
  });
}
