import type { Harness } from '@toolscript/core';
import { keyVariable, type AgentConfig, type SubAgents } from '@toolscript/core/agent';
import { optionsCapability } from '@toolscript/core/internal';
import { ToolscriptUsageError, type ScriptCapability } from '@toolscript/core/protocol';
import type { LoadImage } from '@toolscript/core/history';
import type { McpServers } from '@toolscript/mcp';
import {
  keyProblem,
  narrowedTo,
  type AgentDirectory,
  type OpenedAgent,
  type RunChoices,
  type ServedAgent,
} from '@toolscript/server';
import { findAgents, type FoundAgent } from '../agents/agent-files.js';
import { chooseAgent, agentSettings } from '../agents/choose-agent.js';
import { openModel } from '../agents/open-model.js';
import { withProjectInstructions } from '../agents/project-instructions.js';
import { openSubAgents } from '../agents/sub-agents.js';
import type { RememberedRule, RuleFolder } from '../approvals/workspace-rules.js';
import { suspendingPolicy } from '../approvals/approvals.js';
import type { Settings } from '../configuration/settings.js';
import { sharedEngines, type Engines } from '../harness/engines.js';
import { openHarness, type HarnessSettings } from '../harness/open-harness.js';
import { isUsageError } from '../usage-error.js';

export interface AgentFolderOptions {
  /** The settings of the workspace whose agents are served. */
  readonly settings: Settings;
  readonly engines: Engines;
  readonly parts: Pick<HarnessSettings, 'kept' | 'audit' | 'onInternalError' | 'cabinet'>;
  readonly demo: ServedAgent;
  /** The servers whose tools agents may use; closed by the caller. */
  readonly servers: McpServers | undefined;
  /** The remembered approvals of the workspace. */
  readonly rules: RuleFolder;
  readonly loadImage: LoadImage;
  readonly warn: (message: string) => void;
}

/** A harness, and the sub-agents whose tools it has. */
interface OpenedAgentHarness {
  readonly harness: Harness;
  readonly subAgents: SubAgents | undefined;
}

/**
 * The agents of the user and of the workspace, and the demo agent while no agent has its API key. Agent files are read again for each request. Each
 * set of settings has a separate harness, so that a run continues with the harness that it started with.
 */
export class AgentFolder implements AgentDirectory {
  readonly #options: AgentFolderOptions;
  readonly #harnesses = new Map<string, Promise<OpenedAgentHarness>>();
  #known: ScriptCapability | undefined;

  constructor(options: AgentFolderOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly ServedAgent[]> {
    const agents = [...(await this.#read(undefined)).values()];
    const served = agents.map((found) => this.#servedAgent(found));
    return agents.some(hasKey) ? served : [...served, this.#options.demo];
  }

  async all(): Promise<readonly ServedAgent[]> {
    const { demo } = this.#options;
    return [...(await this.list()).filter((served) => served !== demo), demo];
  }

  /** Finds an agent. Default: the configured agent, or the first one whose API key is set, or the demo agent. */
  async find(slug: string | undefined = this.#options.settings.agent): Promise<ServedAgent | undefined> {
    const { demo } = this.#options;
    if (slug === demo.config.slug) return demo;
    const agents = await this.#read(slug);
    const found = slug === undefined ? [...agents.values()].find(hasKey) : agents.get(slug);
    if (found !== undefined) return this.#servedAgent(found);
    return slug === undefined ? demo : undefined;
  }

  async close(): Promise<void> {
    for (const opening of this.#harnesses.values()) await (await opening).harness.close();
  }

  #read(named: string | undefined): Promise<ReadonlyMap<string, FoundAgent>> {
    const { settings, warn } = this.#options;
    return findAgents(process.env, settings.cwd, warn, named);
  }

  #servedAgent(found: FoundAgent): ServedAgent {
    const { config } = found;
    const problem = keyProblem(config, process.env);
    return {
      config,
      ...(problem === undefined ? {} : { problem }),
      capability: this.#capability(),
      open: (choices) => this.#orRefuse(() => this.#open(found, choices)),
    };
  }

  #capability(): ScriptCapability {
    const { settings, engines, parts } = this.#options;
    const runtime = settings.runtime === 'quickjs' ? engines.runtime : settings.runtime;
    this.#known ??= optionsCapability({ suspensionKey: parts.kept?.suspensionKey, runtime });
    return this.#known;
  }

  async #orRefuse<Value>(open: () => Promise<Value>): Promise<Value> {
    try {
      return await open();
    } catch (error) {
      throw isUsageError(error) ? new ToolscriptUsageError('AGENT_UNUSABLE', { problem: error.message }) : error;
    }
  }

  async #open(found: FoundAgent, { model, expose }: RunChoices): Promise<OpenedAgent> {
    const { settings, loadImage, warn } = this.#options;
    const { slug } = found.config;
    const chosen = chooseAgent(new Map([[slug, found]]), { ...settings, agent: slug }, model, process.env);
    const own = agentSettings(settings, chosen, warn);
    const provider = await openModel(chosen, process.env);
    const { harness, subAgents } = await this.#harness(own, chosen.agent, expose);
    const { agent: instructed } = await withProjectInstructions(chosen.agent, process.env, settings.cwd, warn);
    const agent: AgentConfig = { ...instructed, mode: own.mode, limits: {} };
    return { agent, provider, harness, subAgents, loadImage, context: { workingDirectory: settings.cwd } };
  }

  async #harness(
    settings: Settings,
    agent: AgentConfig,
    expose: readonly string[] | undefined,
  ): Promise<OpenedAgentHarness> {
    const full = await this.#openHarness(settings, agent);
    if (expose === undefined) return full;
    return { ...full, harness: full.harness.narrowed(narrowedTo(full.harness, expose).tools) };
  }

  /** Opens a new harness if the remembered rules have changed, so that runs that begin or resume later obey them. */
  async #openHarness(settings: Settings, agent: AgentConfig): Promise<OpenedAgentHarness> {
    const { limits, expose, packs, mode, workspaceTools } = settings;
    const remembered = await this.#options.rules.list(this.#options.warn);
    const own = agent.agents === undefined ? undefined : [agent.slug, agent.agents, agent.provider];
    const rules = remembered.map((one) => one.rules);
    const key = JSON.stringify([limits, expose, packs, mode, workspaceTools, rules, own, agent.scripts]);
    const found = this.#harnesses.get(key);
    if (found !== undefined) return found;
    const opening = this.#make(settings, agent, remembered);
    this.#harnesses.set(key, opening);
    opening.catch(() => this.#harnesses.delete(key));
    return opening;
  }

  async #make(
    settings: Settings,
    agent: AgentConfig,
    remembered: readonly RememberedRule[],
  ): Promise<OpenedAgentHarness> {
    const { engines, parts, servers, warn } = this.#options;
    const subAgents = await openSubAgents(agent, { settings, cabinet: parts.cabinet, warn, waitsForDecisions: true });
    const approvals = suspendingPolicy(settings, remembered);
    const shared = {
      ...parts,
      approvals,
      engines: sharedEngines(engines),
      more: subAgents?.tools,
      scripts: agent.scripts,
    };
    const { harness, attachable } = await openHarness(settings, shared);
    servers?.attach(attachable);
    return { harness, subAgents };
  }
}

function hasKey({ config, from }: FoundAgent): boolean {
  return from !== 'workspace' && keyVariable(config) !== undefined && keyProblem(config, process.env) === undefined;
}
