import { createSubAgents, type AgentConfig, type SubAgents } from '@toolscript/core/agent';
import type { Settings } from '../configuration/settings.js';
import { promptLibrary, type Cabinet } from '../harness/exposure.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { requireAgent, findAgents } from './agent-files.js';
import { chooseAgent } from './choose-agent.js';
import { openModel } from './open-model.js';

/** The settings and resources that an agent's sub-agents need. */
export interface SubAgentPlaces {
  readonly settings: Settings;
  /** The prompts and files that the sub-agents' models may read. Default: none. */
  readonly cabinet?: Cabinet | undefined;
  readonly warn: (message: string) => void;
  /** See `SubAgentOptions`. */
  readonly waitsForDecisions?: boolean | undefined;
}

/** Creates the sub-agents of an agent. Returns undefined unless the agent's file has `agents`. */
export async function openSubAgents(
  agent: AgentConfig,
  { settings, cabinet, warn, waitsForDecisions = false }: SubAgentPlaces,
): Promise<SubAgents | undefined> {
  if (agent.agents === undefined) return undefined;
  const { names = [], ...limits } = agent.agents;
  const opened = async (slug: string, model: string | undefined) => {
    const agents = await findAgents(process.env, settings.cwd, warn, slug);
    requireAgent(agents, slug);
    const chosen = chooseAgent(agents, { ...settings, agent: slug }, model, process.env);
    return { agent: chosen.agent, provider: await openModel(chosen, process.env) };
  };
  const { storedTexts } = await import('@toolscript/tools');
  return createSubAgents({
    ...limits,
    ...(cabinet && storedTexts(promptLibrary(cabinet))),
    waitsForDecisions,
    openAgent: (slug) => {
      // defence: named-sub-agents-only
      if (names.includes(slug)) return opened(slug, undefined);
      throw new UsageError(
        `The agent ${agent.slug} may not launch ${visibleLine(slug)}. ${names.length === 0 ? '' : `Launch ${names.join(' or ')} instead. `}The user can add ${visibleLine(slug)} to "agents.names" in the file of ${agent.slug}.`,
      );
    },
    openModel: async (model) => {
      // A model may not name a scenario, because a scenario is a file on this machine.
      if (agent.provider === undefined || model.startsWith('scripted:'))
        throw new UsageError(
          `The agent ${agent.slug} cannot use the model ${visibleLine(model)}: the agent has no provider, or the model is a scenario. Omit model.`,
        );
      return { provider: (await opened(agent.slug, model)).provider };
    },
  });
}
