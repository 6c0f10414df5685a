import { randomBytes } from 'node:crypto';
import { createHarness, type Harness, type HarnessOptions } from '@toolscript/core';
import {
  createSubAgents,
  defineAgent,
  exposeAlso,
  keyVariable,
  modelReferences,
  modelSettings,
  type ModelReference,
  type AgentConfig,
  type AgentInput,
  type SubAgentOptions,
  type SubAgents,
} from '@toolscript/core/agent';
import { createProvider, withFallbacks, type ProviderApi } from '@toolscript/core/providers';
import { optionsCapability, present } from '@toolscript/core/internal';
import { ToolscriptUsageError, type ModelProvider, type ScriptCapability } from '@toolscript/core/protocol';
import {
  fixedAgents,
  keyProblem,
  type AgentDirectory,
  type OpenedAgent,
  type RunChoices,
  type ServedAgent,
} from './agent-directory.js';

export interface HarnessAgentsOptions {
  readonly agents: readonly AgentInput[];
  /** The tools and their rules. An agent's `tools` and `pack` select from these tools. */
  readonly harness: HarnessOptions;
  /** Lets agents that have sub-agents find prompts, files and models. */
  readonly subAgents?: SubAgentOptions | undefined;
  /** Creates the model of an agent. Default: `createProvider` with the `provider` and the key of the agent. */
  readonly provider?:
    | ((agent: AgentConfig, model: string | undefined) => ModelProvider | Promise<ModelProvider>)
    | undefined;
}

/** A harness, and the host of the sub-agents that use its tools. */
interface OpenedHarness {
  readonly harness: Harness;
  readonly subAgents: SubAgents | undefined;
}

/** Maximum number of harnesses. */
const MAX_HARNESSES = 32;

/**
 * Agents that select their tools from one harness configuration. The directory creates one harness for each selection
 * of tools and value of `scripts`, and one for each agent with sub-agents, when a run first needs the harness.
 */
export class HarnessAgents implements AgentDirectory {
  readonly #options: HarnessAgentsOptions;
  readonly #agents: AgentDirectory;
  readonly #harnesses = new Map<string, OpenedHarness>();

  #capability: ScriptCapability | undefined;

  constructor({ harness, ...options }: HarnessAgentsOptions) {
    // All harnesses need the same key, because a run may continue with another one.
    this.#options = { ...options, harness: { ...harness, suspensionKey: harness.suspensionKey ?? randomBytes(32) } };
    const capability = () => this.capability;
    const agents = options.agents.map((input): ServedAgent => {
      const config = defineAgent({ ...input, ...present({ scripts: input.scripts ?? harness.scripts }) });
      const problem = options.provider === undefined ? keyProblem(config, process.env) : undefined;
      const open = (choices: RunChoices) => this.#open(config, choices);
      return {
        config,
        open,
        problem,
        get capability() {
          return capability();
        },
      };
    });
    this.#agents = fixedAgents(agents);
  }

  get capability(): ScriptCapability {
    this.#capability ??= optionsCapability(this.#options.harness);
    return this.#capability;
  }

  list(): Promise<readonly ServedAgent[]> {
    return this.#agents.list();
  }

  find(slug?: string): Promise<ServedAgent | undefined> {
    return this.#agents.find(slug);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#harnesses.values()].map(({ harness }) => harness.close()));
  }

  async #open(agent: AgentConfig, { model, expose }: RunChoices): Promise<OpenedAgent> {
    const { provider = defaultProvider, harness } = this.#options;
    const own = agentExposure(agent) ?? harness.expose;
    const full = this.#openHarness(own, agent);
    const narrowed =
      expose === undefined ? full.harness : full.harness.narrowed(narrowedTo(full.harness, expose).tools);
    return { agent, provider: await provider(agent, model), harness: narrowed, subAgents: full.subAgents };
  }

  #openHarness(expose: HarnessOptions['expose'], agent: AgentConfig): OpenedHarness {
    const { scripts } = agent;
    const key = JSON.stringify([expose, agent.agents === undefined ? undefined : agent.slug, scripts]);
    const found = this.#harnesses.get(key);
    if (found !== undefined) return found;
    if (this.#harnesses.size >= MAX_HARNESSES)
      throw new ToolscriptUsageError('TOO_MANY_HARNESSES', { most: MAX_HARNESSES });
    const { expose: _own, ...options } = this.#options.harness;
    const subAgents = agent.agents === undefined ? undefined : this.#subAgents(agent.agents);
    const more = subAgents?.tools ?? [];
    const exposed = exposeAlso(expose, more);
    const tools = [...options.tools, ...more];
    const harness = createHarness({ ...options, ...present({ expose: exposed, scripts }), tools });
    const opened = { harness, subAgents };
    this.#harnesses.set(key, opened);
    return opened;
  }

  #subAgents({ names = [], ...limits }: NonNullable<AgentConfig['agents']>): SubAgents {
    const { provider = defaultProvider, subAgents } = this.#options;
    return createSubAgents({
      openAgent: async (slug) => {
        const served = names.includes(slug) ? await this.find(slug) : undefined;
        if (served !== undefined) return { agent: served.config, provider: await provider(served.config, undefined) };
        throw new ToolscriptUsageError('AGENT_NOT_LAUNCHABLE', {
          slug: JSON.stringify(slug),
          names: ['itself', ...names].join(', '),
        });
      },
      waitsForDecisions: true,
      ...subAgents,
      ...present(limits),
    });
  }
}

function agentExposure({ tools, pack }: AgentConfig): HarnessOptions['expose'] {
  if (tools === undefined && pack === undefined) return undefined;
  return { tools, pack };
}

/**
 * The tools that `expose` names, in the harness's order. Throws a `ToolscriptUsageError` for a tool that the agent does
 * not have.
 */
export function narrowedTo(harness: Harness, expose: readonly string[]): { tools: readonly string[]; pack?: never } {
  const names = harness.tools().map(({ name }) => name);
  const unknown = expose.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new ToolscriptUsageError('AGENT_WITHOUT_TOOL', {
      tool: JSON.stringify(unknown),
      names: names.join(', ') || 'none',
    });
  return { tools: names.filter((name) => expose.includes(name)) };
}

function defaultProvider(agent: AgentConfig, model: string | undefined): ModelProvider {
  const { slug, provider } = agent;
  if (provider === undefined) throw new ToolscriptUsageError('AGENT_WITHOUT_PROVIDER', { slug });
  return withFallbacks(modelReferences(agent, model).map((one) => openReference(agent, one)));
}

function openReference(agent: AgentConfig, provider: ModelReference): ModelProvider {
  const problem = keyProblem({ ...agent, provider }, process.env);
  if (problem !== undefined) throw new ToolscriptUsageError('AGENT_UNUSABLE', { problem });
  const keyName = keyVariable({ provider });
  const apiKey = keyName === undefined ? undefined : process.env[keyName];
  return createProvider(provider.api as ProviderApi, {
    model: provider.model,
    apiKey,
    ...modelSettings(provider),
  });
}
