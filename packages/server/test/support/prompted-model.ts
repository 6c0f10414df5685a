import { scriptedModel, type Scenario } from '@toolscript/core/providers';
import type { ModelProvider } from '@toolscript/core/protocol';

type Turn = Scenario['turns'][number];

/** A model that answers the last prompt with a turn, and reports its end after its script. */
export function promptedModel(
  turnOf: (prompt: string, hasRun: boolean) => Turn,
  options: Omit<Scenario, 'turns'> = {},
): ModelProvider {
  const { api, model, capabilities } = scriptedModel({ turns: [] });
  return {
    api,
    model,
    capabilities,
    stream: (request, streaming) => {
      const { conversation } = request;
      const last = conversation.findLastIndex((item) => item.type === 'message' && item.role === 'user');
      const hasRun = conversation.slice(last).some(({ type }) => type === 'script_execution_output');
      const { content } = conversation[last] as { content: string };
      return scriptedModel({ turns: [turnOf(content, hasRun)], ...options }).stream(request, streaming);
    },
  };
}
