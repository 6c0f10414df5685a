import { present } from '../protocol/json.js';
import type { AgentConfig } from './agent-config.js';
import { keyOfCommand } from './key-of-command.js';

type ModelReference = NonNullable<AgentConfig['provider']>;

/** The options of `createProvider` that an agent's `provider` sets, except `api`, `model` and `apiKeyEnv`. */
export function modelSettings(provider: ModelReference) {
  const {
    api: _api,
    model: _model,
    apiKeyEnv: _apiKeyEnv,
    apiKeyCommand,
    reasoningSummary,
    thinkingDisplay,
    retries,
    ...same
  } = provider;
  return {
    ...present(same),
    ...(retries === undefined ? {} : { retries: present(retries) }),
    ...(apiKeyCommand === undefined ? {} : { apiKey: keyOfCommand(apiKeyCommand) }),
    responses: present({ reasoningSummary }),
    messages: present({ thinkingDisplay }),
  };
}
