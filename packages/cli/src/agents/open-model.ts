import { readFile } from 'node:fs/promises';
import {
  createProvider,
  scriptedModel,
  withFallbacks,
  type ProviderApi,
  type Scenario,
} from '@toolscript/core/providers';
import type { ModelProvider } from '@toolscript/core/protocol';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { isUsageError, systemCode, UsageError } from '../usage-error.js';
import type { ChosenAgent } from './choose-agent.js';
import {
  keyVariable,
  modelReferences,
  modelSettings,
  type AgentConfig,
  type ModelReference,
} from '@toolscript/core/agent';

const DEFAULT_SCRIPTED_API: ProviderApi = 'openai-responses';

/**
 * The model that an agent talks to. Throws a UsageError if the agent's provider, the key or the scenario is missing or
 * invalid.
 */
export async function openModel(
  { agent, model, scenarioFile }: ChosenAgent,
  environment: Environment,
): Promise<ModelProvider> {
  const { provider } = agent;
  if (scenarioFile !== undefined) return openScriptedModel(scenarioFile, provider?.api as ProviderApi | undefined);
  if (provider === undefined)
    throw new UsageError(`The agent ${agent.slug} names no provider. Set its provider: { "api", "model" }.`);
  return withFallbacks(modelReferences(agent, model).map((one) => openReference(agent, one, environment)));
}

function openReference(agent: AgentConfig, provider: ModelReference, environment: Environment): ModelProvider {
  const keyName = keyVariable({ provider }, environment);
  const apiKey = keyName === undefined ? undefined : environment[keyName];
  if (keyName !== undefined && (apiKey === undefined || apiKey === ''))
    throw new UsageError(
      `The agent ${agent.slug} needs a key: set ${keyName}, or name another agent with --agent. To list the agents: toolscript doctor`,
    );
  return withSubject(`The agent ${agent.slug}`, () =>
    createProvider(provider.api as ProviderApi, {
      model: provider.model,
      environment,
      ...(apiKey === undefined ? {} : { apiKey }),
      ...modelSettings(provider, environment),
    }),
  );
}

async function openScriptedModel(file: string, api: ProviderApi = DEFAULT_SCRIPTED_API): Promise<ModelProvider> {
  const name = visibleLine(file);
  let scenario: unknown;
  try {
    scenario = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT') throw new UsageError(`There is no scenario ${name}. Check the path after scripted:`);
    throw new UsageError(
      `The scenario ${name} cannot be read: ${visibleLine((error as Error).message)}. Make the file readable and its JSON valid, or name another file after scripted:`,
    );
  }
  return withSubject(`The scenario ${name}`, () => scriptedModel(scenario as Scenario, { api }));
}

function withSubject<Value>(whose: string, make: () => Value): Value {
  try {
    return make();
  } catch (error) {
    if (isUsageError(error)) throw new UsageError(`${whose}: ${visibleLine(error.message)}`);
    throw error;
  }
}
