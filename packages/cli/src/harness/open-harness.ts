import { createCompiler, createHarness, QuickJsPool, type Harness } from '@toolscript/core';
import type { ApprovalPolicy, Tool } from '@toolscript/core/protocol';
import type { Settings } from '../configuration/settings.js';
import { didYouMean } from '../nearest-name.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

export interface OpenHarness {
  readonly harness: Harness;
  /** Every tool that was given, exposed or not. */
  readonly tools: readonly Tool[];
}

export interface HarnessWishes {
  approvals?: ApprovalPolicy;
  onInternalError?: (detail: string) => void;
  /** Whether scripts will run; their threads then start while the tools are still being loaded. */
  runsScripts: boolean;
}

/** The harness of the settings, with the tools for work on a folder. Throws usage errors, of the library's too. */
export async function openHarness(
  settings: Settings,
  { approvals, onInternalError, runsScripts }: HarnessWishes,
): Promise<OpenHarness> {
  const runtime = new QuickJsPool({ size: 1 });
  const compiler = createCompiler();
  if (runsScripts && settings.mode !== 'disabled') void compiler.warm();
  if (runsScripts && settings.mode === 'enabled') runtime.warm().catch(() => {});
  try {
    const { codingTools } = await import('@toolscript/tools');
    const tools = allowedTools(codingTools({ roots: settings.cwd }), settings);
    const harness = createHarness({
      tools,
      expose: narrowedExposure(settings, tools),
      packs: narrowedPacks(settings, tools),
      mode: settings.mode,
      runtime,
      compiler,
      limits: settings.limits,
      ...(approvals === undefined ? {} : { approvals }),
      ...(onInternalError === undefined ? {} : { onInternalError }),
    });
    return { harness, tools };
  } catch (error) {
    await Promise.all([runtime.close(), compiler.close()]);
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
