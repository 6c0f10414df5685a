import type { Harness } from '@toolscript/core';
import { keyVariable, type AgentConfig, type SubAgentHost } from '@toolscript/core/agent';
import type { LoadImage } from '@toolscript/core/history';
import type { JsonObject, ModelProvider, ScriptCapability } from '@toolscript/core/protocol';

/** A submitter's options for one run. `expose` only narrows the operator's configuration. */
export interface RunChoices {
  /** Replaces the agent's own model by one of its `models`. */
  readonly model?: string | undefined;
  /** The only tools that the run may use. */
  readonly expose?: readonly string[] | undefined;
}

/** Everything that an agent's run needs. */
export interface OpenedAgent {
  readonly agent: AgentConfig;
  readonly provider: ModelProvider;
  /** The model's name in the choices of a submitter. Default: the provider's name of the model. */
  readonly model?: string | undefined;
  readonly harness: Harness;
  /** The host's own context for tools. It is never stored. */
  readonly app?: unknown;
  /** Members of the scripts' `context`. */
  readonly context?: JsonObject | undefined;
  readonly loadImage?: LoadImage | undefined;
  /** The JSON Schema of the final answer of the runs. Default: the answer is text. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Launches the sub-agents of the agent. They use the tools of the harness. */
  readonly subAgents?: SubAgentHost | undefined;
}

/** An agent that the server offers. */
export interface ServedAgent {
  readonly config: AgentConfig;
  /** The reason why the agent cannot work now, and the fix. */
  readonly problem?: string | undefined;
  /** The `capability` of the harnesses that `open` returns. */
  readonly capability: ScriptCapability;
  /**
   * The server calls `open` for each run. Throws a `ToolscriptUsageError` if the agent cannot work, for example because
   * of a missing key.
   */
  open(choices: RunChoices): Promise<OpenedAgent>;
}

/**
 * The agents that the server offers. The server queries the directory for each request, so agents may appear and
 * disappear.
 */
export interface AgentDirectory {
  list(): Promise<readonly ServedAgent[]>;
  /** All agents that `find` finds. Default: those of `list`. */
  all?(): Promise<readonly ServedAgent[]>;
  /** The agent with this slug, or the default agent if `slug` is omitted. Returns undefined if no such agent exists. */
  find(slug?: string): Promise<ServedAgent | undefined>;
}

/** The models that a submitter may choose for a run of the agent: the agent's own, and its `models`. */
export function allowedModels({ provider, models = [] }: AgentConfig): string[] {
  return provider === undefined ? models : [provider.model, ...models];
}

/** Describes the problem and its fix if the agent's API key is missing from the environment. */
export function keyProblem(agent: AgentConfig, environment: Readonly<Record<string, string | undefined>>) {
  const name = keyVariable(agent, environment);
  if (name === undefined || (environment[name] ?? '') !== '') return undefined;
  return `The agent ${agent.slug} needs a key. Set the environment variable ${name}, and restart the server.`;
}

/** A directory with a fixed list of agents. The first agent is the default. */
export function fixedAgents(agents: readonly ServedAgent[]): AgentDirectory {
  return {
    list: async () => agents,
    find: async (slug) => (slug === undefined ? agents[0] : agents.find(({ config }) => config.slug === slug)),
  };
}
