import type { AgentInput } from '#core/agent/index.js';
import type { ProviderApi } from '#core/providers/index.js';
import { modelFacts } from '#core/protocol/known-models.js';
import { MODEL_FAMILIES, type ModelFamily } from '#core/protocol/model-families.js';

export interface Family {
  readonly api: ProviderApi;
  readonly model: string;
}

const APIS_OF: Readonly<Record<ModelFamily['vendor'], readonly ProviderApi[]>> = {
  openai: ['openai-responses', 'openai-chat'],
  anthropic: ['anthropic-messages'],
};

/** Every known model, in each format of its vendor. */
export const MODELS: readonly Family[] = MODEL_FAMILIES.flatMap(({ vendor, models }) =>
  models.flatMap((model) => APIS_OF[vendor].map((api) => ({ api, model }))),
);

/** One model of each family, in each format of its vendor; and an unknown model in each format. */
export const FAMILIES: readonly Family[] = [
  ...MODEL_FAMILIES.flatMap(({ vendor, models }) => APIS_OF[vendor].map((api) => ({ api, model: models[0]! }))),
  ...(['openai-responses', 'openai-chat', 'anthropic-messages'] as const).map((api) => ({ api, model: 'model-1' })),
];

/** The agent as the model can serve it: without tools, scripts arrive in text. */
export function agentFor({ api, model }: Family, agent: Partial<AgentInput>): Partial<AgentInput> {
  const hasTools = api !== 'openai-chat' || modelFacts(model).chatTools !== 'never';
  return hasTools ? { functions: ['add'], ...agent } : { ...agent, carrier: 'text' };
}
