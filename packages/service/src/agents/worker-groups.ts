import type { ScriptCapability } from '@toolscript/core/protocol';
import type { AgentDirectory } from './agent-directory.js';

/** The need of a run whose agent has this slug. */
export function agentNeed(slug: string): string {
  return `agent:${slug}`;
}

/**
 * The capabilities of a process, one for each group of agents whose scripts need and open the same. At least one,
 * which also claims the runs that need nothing.
 */
export async function workerGroups(agents: AgentDirectory): Promise<readonly ScriptCapability[]> {
  const groups = new Map<string, { needs: readonly string[]; opens: Set<string> }>();
  for (const { config, capability } of await (agents.all?.() ?? agents.list())) {
    const { needs, opens } = capability;
    const key = JSON.stringify([needs, opens]);
    const group = groups.get(key) ?? { needs, opens: new Set(opens) };
    group.opens.add(agentNeed(config.slug));
    groups.set(key, group);
  }
  if (groups.size === 0) return [{ needs: [], opens: [] }];
  return [...groups.values()].map(({ needs, opens }) => ({ needs, opens: [...opens].toSorted() }));
}
