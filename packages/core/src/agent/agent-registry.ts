import { ToolscriptUsageError } from '../protocol/index.js';
import { DEFAULT_MODELS } from '../protocol/known-models.js';
import { didYouMean } from '../text/nearest-names.js';
import { defineAgent, type AgentConfig, type AgentInput } from './agent-config.js';

export interface AgentRegistry {
  /**
   * Returns the agent with this slug. Throws a `ToolscriptUsageError` for an unknown slug, with similar slugs or all
   * slugs.
   */
  get(slug: string): AgentConfig;
  has(slug: string): boolean;
  /** The agents in the order in which they were given. */
  list(): readonly AgentConfig[];
}

/** The names of the models of the built-in agents, by slug. */
export type DefaultModels = Partial<Record<keyof typeof DEFAULT_MODELS, string>>;

/** The built-in agents. `models` replaces the default models of the agents. */
export function defaultAgents(models: DefaultModels = {}): AgentConfig[] {
  const named = { ...DEFAULT_MODELS, ...models };
  const openAi = { api: 'openai-responses' };
  const anthropic = { api: 'anthropic-messages' };
  return [
    defineAgent({
      slug: 'gpt',
      name: 'GPT',
      provider: { ...openAi, model: named.gpt },
      carrier: 'custom',
    }),
    defineAgent({
      slug: 'claude-sonnet',
      name: 'Claude Sonnet',
      provider: { ...anthropic, model: named['claude-sonnet'] },
    }),
    defineAgent({
      slug: 'claude-haiku',
      name: 'Claude Haiku',
      provider: { ...anthropic, model: named['claude-haiku'] },
    }),
    defineAgent({
      slug: 'ollama',
      name: 'Ollama',
      provider: { api: 'openai-chat', model: named.ollama, baseUrl: 'http://127.0.0.1:11434/v1' },
      carrier: 'text',
    }),
  ];
}

/** Creates a registry. Later agents replace earlier agents with the same slug. */
export function createAgentRegistry(agents: readonly AgentInput[] = defaultAgents()): AgentRegistry {
  const bySlug = new Map(agents.map((agent) => [agent.slug, defineAgent(agent)]));
  return {
    has: (slug) => bySlug.has(slug),
    list: () => [...bySlug.values()],
    get(slug) {
      const agent = bySlug.get(slug);
      if (agent !== undefined) return agent;
      const names = [...bySlug.keys()];
      throw new ToolscriptUsageError('UNKNOWN_AGENT', {
        slug,
        advice: didYouMean(slug, names) || ` The agents are: ${names.join(', ') || 'none'}.`,
      });
    },
  };
}
