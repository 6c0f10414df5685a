import { present } from '../protocol/json.js';
import { agentService, type ModelReference } from './agent-config.js';
import { keyOfCommand } from './key-of-command.js';

/** The options of `createProvider` that an agent's `provider` sets, except `api`, `model` and `apiKeyEnv`. */
export function modelSettings(
  provider: ModelReference,
  environment: Readonly<Record<string, string | undefined>> = process.env,
) {
  const {
    api: _api,
    model: _model,
    apiKeyEnv: _apiKeyEnv,
    apiKeyCommand,
    reasoningSummary,
    thinkingDisplay,
    background,
    retries,
    ...same
  } = provider;
  return {
    ...present({ baseUrl: agentService(provider, environment)?.baseUrl, ...same }),
    ...(retries === undefined ? {} : { retries: present(retries) }),
    ...(apiKeyCommand === undefined ? {} : { apiKey: keyOfCommand(apiKeyCommand) }),
    responses: present({ reasoningSummary, background }),
    messages: present({ thinkingDisplay }),
  };
}
