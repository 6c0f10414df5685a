import { createHarness, guardDestinations, type AuditLog, type Harness } from '@toolscript/core';
import { exposeAlso, type AgentConfig } from '@toolscript/core/agent';
import { present } from '@toolscript/core/internal';
import type { ApprovalPolicy, Tool } from '@toolscript/core/protocol';
import type { AttachableHarness, McpServers } from '@toolscript/mcp';
import type { SuggestRules } from '../approvals/workspace-rules.js';
import type { Settings } from '../configuration/settings.js';
import { hookedHarness, hookedTool } from '../hooks/hooked-tools.js';
import { openServers, type OpenServersOptions } from '../mcp/open-servers.js';
import type { PersistentState } from '../state/persistent-state.js';
import type { Engines } from './engines.js';
import {
  allowedTools,
  checkWorkspaceTools,
  settingsExposure,
  knowsWeb,
  narrowedPacks,
  openCabinetTools,
  openWebTools,
  withoutCabinet,
  withoutUnnamedWeb,
  type Cabinet,
} from './exposure.js';

export interface OpenHarness {
  readonly harness: Harness;
  /** The harness to which MCP servers are attached. */
  readonly attachable: AttachableHarness;
  /** All tools that can currently be called. */
  readonly tools: () => readonly Tool[];
  /** Suggests the rules of "always allow" for a call. */
  readonly suggestRules: SuggestRules;
}

export interface HarnessSettings {
  approvals?: ApprovalPolicy | undefined;
  onInternalError?: ((detail: string) => void) | undefined;
  /** The store of suspended and interrupted scripts. Default: scripts are not stored. */
  kept?: PersistentState | undefined;
  audit?: AuditLog | undefined;
  /** Whether scripts get the tools for work on a folder. Default true. */
  coding?: boolean | undefined;
  /** The texts of stored conversations. Default: there is no File Cabinet. */
  cabinet?: Cabinet | undefined;
  /** Whether each script can use the variables of the scripts before it. Default: scripts are separate. */
  scripts?: AgentConfig['scripts'];
  /** Tools that are exposed in addition to those that the settings name. */
  more?: readonly Tool[] | undefined;
  /** The engines, which are closed with the harness, or at once if the harness cannot be created. */
  engines: Engines;
}

/** A harness with the tools of MCP servers. The caller closes the servers after the harness. */
interface HarnessWithServers extends OpenHarness {
  /** The MCP servers; undefined if there are none. */
  readonly servers: McpServers | undefined;
}

/**
 * Opens the harness for the settings, with the tools of their MCP servers. `warn` receives the problems that the user
 * should know about.
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
    servers?.attach(opened.attachable);
    return { ...opened, servers };
  } catch (error) {
    await opened.harness.close();
    throw error;
  }
}

/** Opens the harness for the settings, without MCP servers. Throws UsageErrors and ToolscriptUsageErrors. */
export async function openHarness(
  wanted: Settings,
  { approvals, onInternalError, kept, audit, coding = true, cabinet, scripts, more = [], engines }: HarnessSettings,
): Promise<OpenHarness> {
  const settings = withoutUnnamedWeb(cabinet === undefined ? withoutCabinet(wanted) : wanted);
  const documents = cabinet?.documents;
  try {
    const { codingTools, suggestRules } = await import('@toolscript/tools');
    const undo = kept === undefined ? {} : { undo: { folder: kept.folder.changesFolder } };
    const forFolder = coding
      ? codingTools({ roots: settings.cwd, exec: settings.exec, ...undo, ...present({ documents }) })
      : [];
    const forWeb = coding && knowsWeb(settings) ? await openWebTools(settings, process.env, documents) : [];
    const forThread = coding && cabinet !== undefined ? await openCabinetTools(cabinet) : [];
    const given = [...forFolder, ...forThread, ...forWeb, ...more];
    const all = settings.flow === undefined ? given : guardDestinations(given);
    checkWorkspaceTools(all, settings);
    const harness = createHarness({
      tools: allowedTools(all, settings).map((tool) => hookedTool(tool, settings)),
      expose: exposeAlso(
        settingsExposure(settings, [...forFolder, ...forThread], forWeb),
        allowedTools(more, settings),
      ),
      packs: narrowedPacks(settings),
      mode: settings.mode,
      runtime: settings.runtime === 'quickjs' ? engines.runtime : settings.runtime,
      compiler: engines.compiler,
      limits: settings.limits,
      ...(approvals === undefined ? {} : { approvals }),
      ...(onInternalError === undefined ? {} : { onInternalError }),
      ...(kept === undefined ? {} : { store: kept.store, suspensionKey: kept.suspensionKey }),
      ...present({ audit, scripts, documents }),
    });
    return { harness, attachable: hookedHarness(harness, settings), tools: () => harness.tools(), suggestRules };
  } catch (error) {
    await engines.close();
    throw error;
  }
}
