import { createHarness, type AuditLog, type Harness } from '@toolscript/core';
import type { ApprovalPolicy, Tool } from '@toolscript/core/protocol';
import type { SuggestRule } from '../approvals/workspace-rules.js';
import type { Settings } from '../configuration/settings.js';
import type { PersistentState } from '../state/persistent-state.js';
import { didYouMean } from '../nearest-name.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import type { Engines } from './engines.js';

export interface OpenHarness {
  readonly harness: Harness;
  /** Every tool that was given, exposed or not. */
  readonly tools: readonly Tool[];
  /** What "always allow this" means for a call. */
  readonly suggestRule: SuggestRule;
}

export interface HarnessSettings {
  approvals?: ApprovalPolicy;
  onInternalError?: (detail: string) => void;
  /** Where scripts that wait, or are cut off, are kept. Left out: nowhere. */
  kept?: PersistentState | undefined;
  audit?: AuditLog;
  /** Closed with the harness, and where none can be made. */
  engines: Engines;
}

/** The harness of the settings, with the tools for work on a folder. Throws usage errors, of the library's too. */
export async function openHarness(
  settings: Settings,
  { approvals, onInternalError, kept, audit, engines }: HarnessSettings,
): Promise<OpenHarness> {
  try {
    const { codingTools, suggestRule } = await import('@toolscript/tools');
    const tools = allowedTools(codingTools({ roots: settings.cwd, exec: settings.exec }), settings);
    const harness = createHarness({
      tools,
      expose: narrowedExposure(settings, tools),
      packs: narrowedPacks(settings, tools),
      mode: settings.mode,
      runtime: engines.runtime,
      compiler: engines.compiler,
      limits: settings.limits,
      ...(approvals === undefined ? {} : { approvals }),
      ...(onInternalError === undefined ? {} : { onInternalError }),
      ...(kept === undefined ? {} : { store: kept.store, suspensionKey: kept.suspensionKey }),
      ...(audit === undefined ? {} : { audit }),
    });
    return { harness, tools, suggestRule };
  } catch (error) {
    await engines.close();
    throw error;
  }
}

function allowedTools(tools: readonly Tool[], { workspaceTools }: Settings): Tool[] {
  if (workspaceTools === undefined) return [...tools];
  const names = tools.map(({ name }) => name);
  const unknown = workspaceTools.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `toolscript.config.json: "expose.tools" names ${visibleLine(unknown)}, which is no tool.${didYouMean(unknown, names)}`,
    );
  }
  return tools.filter(({ name }) => workspaceTools.includes(name));
}

/** What the person exposes, without the tools that the workspace left out. */
function narrowedExposure({ expose, workspaceTools }: Settings, tools: readonly Tool[]): Settings['expose'] {
  if (workspaceTools === undefined || expose.tools === undefined) return expose;
  return { ...expose, tools: expose.tools.filter((name) => tools.some((tool) => tool.name === name)) };
}

function narrowedPacks({ packs, workspaceTools }: Settings, tools: readonly Tool[]): Settings['packs'] {
  if (workspaceTools === undefined) return packs;
  const isLeft = (name: string) => tools.some((tool) => tool.name === name);
  return Object.fromEntries(
    Object.entries(packs).map(([name, pack]) => [name, { ...pack, tools: pack.tools.filter(isLeft) }]),
  );
}
