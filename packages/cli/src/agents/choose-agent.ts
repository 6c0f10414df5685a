import { resolve } from 'node:path';
import { defineAgent, keyVariable, type AgentConfig } from '@toolscript/core/agent';
import { narrowerMode, present } from '@toolscript/core/internal';
import { narrowLimits, type Settings } from '../configuration/settings.js';
import type { Environment } from '../terminal/screen.js';
import { UsageError } from '../usage-error.js';
import { requireAgent, type FoundAgent } from './agent-files.js';

/** The prefix before the path of a scenario file, in place of a model name. The scenario plays the model. */
const SCRIPTED = 'scripted:';

const SCRIPTED_AGENT = defineAgent({ slug: 'scripted', name: 'A scripted model' });

/** No model can be asked, because none has a key. */
export class NoKeyError extends UsageError {}

export interface ChosenAgent {
  readonly agent: AgentConfig;
  /** The value of --model that selects this model again. */
  readonly model: string;
  /** The path of the scenario that plays the model. */
  readonly scenarioFile?: string | undefined;
}

/**
 * The agent in the settings, or the first agent outside of the workspace whose API key is set. `model` replaces the
 * agent's own model.
 */
export function chooseAgent(
  agents: ReadonlyMap<string, FoundAgent>,
  settings: Pick<Settings, 'agent' | 'models'>,
  model: string | undefined,
  environment: Environment,
): ChosenAgent & Pick<FoundAgent, 'from'> {
  const isScripted = model?.startsWith(SCRIPTED) === true;
  const isNone = settings.agent === undefined || (isScripted && settings.agent === SCRIPTED_AGENT.slug);
  const found = isNone ? undefined : requireAgent(agents, settings.agent as string);
  if (isScripted) {
    const agent = found?.config ?? SCRIPTED_AGENT;
    const scenarioFile = resolve(model.slice(SCRIPTED.length));
    return { agent, from: found?.from ?? 'defaults', model: `${SCRIPTED}${scenarioFile}`, scenarioFile };
  }
  const chosen = found ?? firstWithKey(agents, environment);
  const { config } = chosen;
  if (config.provider === undefined)
    throw new UsageError(`The agent ${config.slug} names no provider. Set its provider: { "api", "model" }.`);
  const named = model ?? settings.models[config.slug] ?? config.provider.model;
  return { agent: { ...config, provider: { ...config.provider, model: named } }, from: chosen.from, model: named };
}

function firstWithKey(agents: ReadonlyMap<string, FoundAgent>, environment: Environment): FoundAgent {
  const all = [...agents.values()].filter(({ from }) => from !== 'workspace');
  const names = all.map(({ config }) => keyVariable(config, environment));
  const found = all.find((_agent, index) => names[index] !== undefined && (environment[names[index]] ?? '') !== '');
  if (found !== undefined) return found;
  throw new NoKeyError(
    `No model has a key. To store one: toolscript connect. Or set ${[...new Set(names.filter((name) => name !== undefined))].join(' or ')}, or name an agent that needs no key (--agent ollama).`,
  );
}

/**
 * Applies the agent's settings: the command line takes precedence, then the agent, then the configuration. An agent's
 * limits can only narrow the configured limits. A workspace's agent can only narrow settings.
 */
export function agentSettings(
  settings: Settings,
  { agent, from }: ChosenAgent & Pick<FoundAgent, 'from'>,
  warn: (message: string) => void,
): Settings {
  const narrowed = narrowLimits(settings.limits, present(agent.limits ?? {}));
  for (const name of narrowed.wider)
    warn(
      `The agent ${agent.slug}: "limits.${name}" would widen the current limit, so it is ignored. Lower this value, or raise the limit in your own configuration.`,
    );
  const own = from === 'workspace' ? workspaceExposure(settings, agent) : agentExposure(settings, agent);
  const mode = settings.named.mode || agent.mode === undefined ? settings.mode : agent.mode;
  return {
    ...settings,
    ...own,
    // defence: agent-limits-narrow
    limits: { ...settings.limits, ...narrowed.limits },
    // defence: workspace-agent-mode-narrows
    mode: from === 'workspace' ? narrowerMode(settings.mode, mode) : mode,
  };
}

function agentExposure({ named, expose }: Settings, { pack, tools }: AgentConfig): Pick<Settings, 'expose'> {
  if (named.exposure || (pack === undefined && tools === undefined)) return { expose };
  return { expose: { ...(pack === undefined ? {} : { pack }), ...(tools === undefined ? {} : { tools: [...tools] }) } };
}

/** A workspace's agent can only select among the exposed tools. */
function workspaceExposure({ workspaceTools }: Settings, { tools }: AgentConfig): Partial<Settings> {
  if (tools === undefined) return {};
  const allowed = workspaceTools;
  return { workspaceTools: allowed === undefined ? [...tools] : tools.filter((name) => allowed.includes(name)) };
}
