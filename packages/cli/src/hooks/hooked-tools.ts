import type { Harness } from '@toolscript/core';
import { ToolCallError, type Tool, type ToolCallContext } from '@toolscript/core/protocol';
import type { AttachableHarness } from '@toolscript/mcp';
import type { Settings } from '../configuration/settings.js';
import { runHook } from './run-hook.js';

type Execute = (input: unknown, context: ToolCallContext) => unknown;

/**
 * The tool, after the hooks before its calls. They run after the approval, one after another; the first one that does
 * not end with status 0 refuses the call, also if it could not run.
 */
export function hookedTool(tool: Tool, { hooks, cwd }: Pick<Settings, 'hooks' | 'cwd'>): Tool {
  const own = hooks.beforeCall.filter(({ tools }) => tools === undefined || tools.includes(tool.name));
  if (own.length === 0) return tool;
  const execute: Execute = async (input, context) => {
    const { scriptId, callId } = context;
    const facts = { event: 'before_call', workspace: cwd, tool: tool.name, input, callId, scriptId };
    for (const hook of own) {
      const reason = await runHook(hook, facts, cwd);
      // defence: a-failed-hook-refuses
      if (reason !== undefined)
        throw new ToolCallError('ToolExecutionError', `A hook refused the call to ${tool.name}: ${reason}`);
    }
    return (tool.execute as Execute)(input, context);
  };
  return { ...tool, execute };
}

/** The harness as MCP servers see it: their tools get the hooks too. */
export function hookedHarness(
  { tools }: Pick<Harness, 'tools'>,
  settings: Pick<Settings, 'hooks' | 'cwd'>,
): AttachableHarness {
  const hooked = (given: readonly Tool[]) => given.map((tool) => hookedTool(tool, settings));
  const changes: Pick<Harness['tools'], keyof Harness['tools']> = {
    add: (given) => tools.add(hooked(given)),
    remove: (names) => tools.remove(names),
    replace: (names, given) => tools.replace(names, hooked(given)),
    explain: (whyMissing) => tools.explain(whyMissing),
  };
  return { tools: Object.assign(() => tools(), changes) };
}
