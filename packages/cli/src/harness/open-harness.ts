import { createHarness, type AuditLog, type Harness, type HarnessOptions } from '@toolscript/core';
import { exposeAlso } from '@toolscript/core/agent';
import { present, type ApprovalPolicy, type Tool } from '@toolscript/core/protocol';
import type { McpServers } from '@toolscript/mcp';
import type { SuggestRule } from '../approvals/workspace-rules.js';
import type { Settings } from '../configuration/settings.js';
import { isOfMcp } from '../mcp/exposed-servers.js';
import { openServers, type OpenServersOptions } from '../mcp/open-servers.js';
import type { PersistentState } from '../state/persistent-state.js';
import { didYouMean } from '../nearest-name.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import type { Engines } from './engines.js';
import { openCabinetTools, withoutCabinet, type Cabinet } from './exposed-cabinet.js';
import { namedWebTools, openWebTools, packsNameWeb, WEB_TOOLS } from './exposed-web.js';

export interface OpenHarness {
  readonly harness: Harness;
  /** All tools that can currently be called. */
  readonly tools: () => readonly Tool[];
  /** The rules of "always allow this" for a call. */
  readonly suggestRule: SuggestRule;
}

export interface HarnessSettings {
  approvals?: ApprovalPolicy;
  onInternalError?: (detail: string) => void;
  /** The store of suspended and interrupted scripts. Default: none. */
  kept?: PersistentState | undefined;
  audit?: AuditLog;
  /** Whether scripts get the tools for work on a folder. Default true. */
  coding?: boolean;
  /** The texts of stored conversations. Default: there is no File Cabinet. */
  cabinet?: Cabinet | undefined;
  /** Tools that are exposed in addition to those that the settings name. */
  more?: readonly Tool[] | undefined;
  /** Closed with the harness, and if no harness can be created. */
  engines: Engines;
}

/** The same with the tools of MCP servers, which the caller closes after the harness. */
interface HarnessWithServers extends OpenHarness {
  /** Undefined: there are none. */
  readonly servers: McpServers | undefined;
}

/**
 * The harness of the settings with the tools of their MCP servers. `warn` receives the problems that the user should
 * know about.
 */
export async function openHarnessWithServers(
  settings: Settings,
  { warn, onElicitation, ...options }: HarnessSettings & Pick<OpenServersOptions, 'warn' | 'onElicitation'>,
): Promise<HarnessWithServers> {
  const starting = openServers(settings, { environment: process.env, warn, onElicitation });
  starting.catch(() => {});
  const opened = await openHarness(settings, options);
  try {
    const servers = await starting;
    servers?.attach(opened.harness);
    return { ...opened, servers };
  } catch (error) {
    await opened.harness.close();
    throw error;
  }
}

/** The harness for the settings, with the tools for work on a folder. Throws usage errors, including the library's. */
export async function openHarness(
  given: Settings,
  { approvals, onInternalError, kept, audit, coding = true, cabinet, more = [], engines }: HarnessSettings,
): Promise<OpenHarness> {
  const settings = withoutUnnamedWeb(cabinet === undefined ? withoutCabinet(given) : given);
  const documents = cabinet?.documents;
  try {
    const { codingTools, suggestRule } = await import('@toolscript/tools');
    const undo = kept === undefined ? {} : { undo: { folder: kept.folder.changesFolder } };
    const forFolder = coding
      ? codingTools({ roots: settings.cwd, exec: settings.exec, ...undo, ...present({ documents }) })
      : [];
    const forWeb = coding && knowsWeb(settings) ? await openWebTools(settings, process.env, documents) : [];
    const forThread = coding && cabinet !== undefined ? await openCabinetTools(cabinet) : [];
    const all = [...forFolder, ...forThread, ...forWeb, ...more];
    checkWorkspaceTools(all, settings);
    const harness = createHarness({
      tools: allowedTools(all, settings),
      expose: exposeAlso(exposureOf(settings, [...forFolder, ...forThread], forWeb), allowedTools(more, settings)),
      packs: narrowedPacks(settings),
      mode: settings.mode,
      runtime: settings.runtime === 'quickjs' ? engines.runtime : settings.runtime,
      compiler: engines.compiler,
      limits: settings.limits,
      ...(approvals === undefined ? {} : { approvals }),
      ...(onInternalError === undefined ? {} : { onInternalError }),
      ...(kept === undefined ? {} : { store: kept.store, suspensionKey: kept.suspensionKey }),
      ...(audit === undefined ? {} : { audit }),
    });
    return { harness, tools: () => harness.tools(), suggestRule };
  } catch (error) {
    await engines.close();
    throw error;
  }
}

/** A workspace that lists web tools does not open them: it only narrows. */
function withoutUnnamedWeb(settings: Settings): Settings {
  const named = namedWebTools(settings);
  const workspaceTools = settings.workspaceTools?.filter((name) => !WEB_TOOLS.includes(name) || named.includes(name));
  return workspaceTools === undefined ? settings : { ...settings, workspaceTools };
}

function knowsWeb(settings: Settings): boolean {
  return namedWebTools(settings).length > 0 || packsNameWeb(settings);
}

/** Web tools that only a pack names are not among the tools that scripts get without an exposure. */
function exposureOf(settings: Settings, own: readonly Tool[], forWeb: readonly Tool[]): HarnessOptions['expose'] {
  const http = namedWebTools(settings).includes('http');
  const isNamed = settings.expose.pack !== undefined || settings.expose.tools !== undefined;
  // defence: web-tools-are-named, without it: if (!isNamed && forWeb.length > 0) return { http: true, mcp: true };
  if (!isNamed && forWeb.length > 0) {
    const tools = [...own.map(({ name }) => name), 'mcp'];
    return narrowedExposure({ ...settings, expose: { tools } });
  }
  return { ...narrowedExposure(settings), ...(http && { http }) };
}

/** The tools that the workspace does not exclude. */
function allowedTools(tools: readonly Tool[], { workspaceTools }: Settings): Tool[] {
  if (workspaceTools === undefined) return [...tools];
  return tools.filter(({ name }) => workspaceTools.includes(name));
}

/** Throws a usage error if the workspace names a tool that does not exist. */
function checkWorkspaceTools(tools: readonly Tool[], { workspaceTools = [] }: Settings): void {
  const names = tools.map(({ name }) => name);
  const unknown = workspaceTools.find((name) => !names.includes(name) && !isOfMcp(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `toolscript.config.json: "expose.tools" names ${visibleLine(unknown)}, which is not a tool.${didYouMean(unknown, names) || ' Remove it.'}`,
    );
  }
}

/** The user's exposed tools, without those that the workspace excludes. */
function narrowedExposure({ expose, workspaceTools }: Settings): HarnessOptions['expose'] {
  if (workspaceTools === undefined) return { ...expose, mcp: true };
  if (expose.tools === undefined && expose.pack === undefined) return { tools: workspaceTools, mcp: true };
  return { ...expose, mcp: true, ...(expose.tools && { tools: narrowedNames(expose.tools, workspaceTools) }) };
}

function narrowedPacks({ packs, workspaceTools }: Settings): Settings['packs'] {
  if (workspaceTools === undefined) return packs;
  return Object.fromEntries(
    Object.entries(packs).map(([name, pack]) => [name, { ...pack, tools: narrowedNames(pack.tools, workspaceTools) }]),
  );
}

/** If one of two names is a namespace of the other, the narrower one wins. */
function narrowedNames(names: readonly string[], allowed: readonly string[]): string[] {
  const isIn = (name: string, namespace: string) => name === namespace || name.startsWith(`${namespace}.`);
  return [
    ...names.filter((name) => allowed.some((one) => isIn(name, one))),
    ...allowed.filter((one) => !names.includes(one) && names.some((name) => isIn(one, name))),
  ];
}
