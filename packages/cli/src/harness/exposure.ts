import type { HarnessOptions } from '@toolscript/core';
import { present } from '@toolscript/core/internal';
import { ToolCallError, type DocumentStore, type Tool } from '@toolscript/core/protocol';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import type { PromptFile, PromptLibrary, SnippetLibrary } from '@toolscript/tools';
import { dataFolder } from '../configuration/locations.js';
import type { Settings } from '../configuration/settings.js';
import { didYouMean } from '../nearest-name.js';
import type { Environment } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/*
 * The tools that scripts get: those that the user's settings expose, without those that the workspace excludes. The
 * web tools exist only if the settings name one of them. The tools of the File Cabinet exist only where conversations
 * are stored.
 */

/**
 * The exposure that the settings name. If they name no pack and no tools, scripts get every tool except the web tools.
 */
export function settingsExposure(
  settings: Settings,
  own: readonly Tool[],
  forWeb: readonly Tool[],
): HarnessOptions['expose'] {
  const http = namedWebTools(settings).includes('http');
  const isNamed = settings.expose.pack !== undefined || settings.expose.tools !== undefined;
  // defence: web-tools-are-named
  if (!isNamed && forWeb.length > 0) {
    const tools = [...own.map(({ name }) => name), 'mcp'];
    return narrowedExposure({ ...settings, expose: { tools } });
  }
  return { ...narrowedExposure(settings), ...(http && { http }) };
}

/** Omits the tools that the workspace excludes. */
export function allowedTools(tools: readonly Tool[], { workspaceTools }: Settings): Tool[] {
  if (workspaceTools === undefined) return [...tools];
  return tools.filter(({ name }) => workspaceTools.includes(name));
}

/** Throws a UsageError if the workspace names a tool that does not exist. */
export function checkWorkspaceTools(tools: readonly Tool[], { workspaceTools = [] }: Settings): void {
  const names = tools.map(({ name }) => name);
  const unknown = workspaceTools.find((name) => !names.includes(name) && !isOfMcp(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `toolscript.config.json: "expose.tools" names ${visibleLine(unknown)}, which is not a tool.${didYouMean(unknown, names) || ' Remove it.'}`,
    );
  }
}

export function narrowedPacks({ packs, workspaceTools }: Settings): Settings['packs'] {
  if (workspaceTools === undefined) return packs;
  return Object.fromEntries(
    Object.entries(packs).map(([name, pack]) => [name, { ...pack, tools: narrowedNames(pack.tools, workspaceTools) }]),
  );
}

/** The user's exposed tools, without those that the workspace excludes. */
function narrowedExposure({ expose, workspaceTools }: Settings): HarnessOptions['expose'] {
  if (workspaceTools === undefined) return { ...expose, mcp: true };
  if (expose.tools === undefined && expose.pack === undefined) return { tools: workspaceTools, mcp: true };
  return { ...expose, mcp: true, ...(expose.tools && { tools: narrowedNames(expose.tools, workspaceTools) }) };
}

/** The names that both lists cover. If one name is a namespace of the other, the result contains the longer name. */
function narrowedNames(names: readonly string[], allowed: readonly string[]): string[] {
  const isIn = (name: string, namespace: string) => name === namespace || name.startsWith(`${namespace}.`);
  return [
    ...names.filter((name) => allowed.some((one) => isIn(name, one))),
    ...allowed.filter((one) => !names.includes(one) && names.some((name) => isIn(one, name))),
  ];
}

/** The web tools. They exist only if the user's exposure or one of the packs names one of them. */
const WEB_TOOLS: readonly string[] = ['webSearch', 'fetchUrl', 'http'];

const WEB_PACK: readonly string[] = ['webSearch', 'fetchUrl'];

type Exposing = Pick<Settings, 'expose' | 'packs'>;

/** Creates the web tools, with API keys from the environment and a cache in the user's own data. */
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

/**
 * Whether any web tool must exist. A pack that names a web tool needs the tool to exist, even if the pack is not
 * exposed.
 */
export function knowsWeb(settings: Settings): boolean {
  return namedWebTools(settings).length > 0 || packsNameWeb(settings);
}

/** Removes web tools from the workspace's list unless the user's exposure names them: a workspace can only narrow. */
export function withoutUnnamedWeb(settings: Settings): Settings {
  const named = namedWebTools(settings);
  const workspaceTools = settings.workspaceTools?.filter((name) => !WEB_TOOLS.includes(name) || named.includes(name));
  return workspaceTools === undefined ? settings : { ...settings, workspaceTools };
}

/** The web tools that the user's exposure names. `all` names none of them. */
function namedWebTools({ expose, packs }: Exposing): readonly string[] {
  const named = new Set([...(expose.tools ?? []), ...toolsOfPack(expose.pack, packs)]);
  return WEB_TOOLS.filter((name) => named.has(name));
}

function packsNameWeb({ packs }: Exposing): boolean {
  return Object.values(packs).some(({ tools }) => tools.some((name) => WEB_TOOLS.includes(name)));
}

function toolsOfPack(name: string | undefined, packs: Settings['packs'], above: readonly string[] = []): string[] {
  if (name === undefined || above.includes(name)) return [];
  if (name === 'research') return [...WEB_PACK];
  if (!Object.hasOwn(packs, name)) return [];
  const { tools, extends: parents = [] } = packs[name]!;
  return [...tools, ...[parents].flat().flatMap((parent) => toolsOfPack(parent, packs, [...above, name]))];
}

/** The tools of the File Cabinet, of prompts and of snippets. They exist where conversations are stored. */
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

/** The store with the texts of a conversation, and the workspace that shares them. */
export interface Cabinet {
  readonly documents: DocumentStore;
  /** The workspace whose users share documents. If it is undefined, no users share documents. */
  readonly workspace?: string | undefined;
  /** The prompts that were read from files. */
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

/** The prompts that scripts and models can read. */
export function promptLibrary({ documents, workspace, prompts }: Cabinet): PromptLibrary {
  return { documents, workspace, principal: LOCAL_PRINCIPAL, files: prompts };
}

/** The saved scripts of the user and the workspace. Throws a UsageError if they cannot be loaded. */
async function savedScripts(library: SnippetLibrary): Promise<Tool[]> {
  const { loadSnippetTools } = await import('@toolscript/tools');
  try {
    return await loadSnippetTools(library, {});
  } catch (error) {
    throw error instanceof ToolCallError ? new UsageError(visible(error.message)) : error;
  }
}

/** The settings for a command without a conversation, without the names of the File Cabinet's tools. */
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

/** Whether scripts may get any tool of an MCP server. Otherwise no server is started. */
export function exposesMcp({ expose, packs, workspaceTools }: Pick<Settings, 'expose' | 'packs' | 'workspaceTools'>) {
  if (workspaceTools !== undefined && !workspaceTools.some(isOfMcp)) return false;
  if (expose.pack === undefined && expose.tools === undefined) return true;
  if (expose.tools?.some(isOfMcp) === true) return true;
  // A pack may extend any other pack.
  const inPacks = Object.values(packs).some(({ tools }) => tools.some(isOfMcp));
  return expose.pack === 'all' || (expose.pack !== undefined && inPacks);
}

/** Whether a name in a list of tools is a tool or a namespace of MCP servers. */
function isOfMcp(name: string): boolean {
  return name === 'mcp' || name.startsWith('mcp.');
}
