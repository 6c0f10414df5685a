import { appendFileSync } from 'node:fs';
import { expect } from 'vitest';
import { createProvider, type ProviderApi, type ProviderOptions } from '#core/providers/index.js';
import { modelFacts, isClaude } from '#core/protocol/known-models.js';
import type { ModelProvider } from '#core/protocol/index.js';
import { SealedBlocks, TunnelService } from './tunnel-service.js';

/*
 * The agent suite in the wind tunnel: scripts/agent-suite.mjs runs it once with each family of models. With
 * TOOLSCRIPT_TUNNEL_MODELS, which names one model of OpenAI and one of Anthropic (`gpt-6.2-sol,claude-opus-5-5`), the
 * providers of the suite are these models. TOOLSCRIPT_TUNNEL_LOG names the file that gets a line for each request, with
 * the reasons for which the service of the model would refuse it. Tests may fail: they expect what an unknown model
 * gets.
 */

type Json = Readonly<Record<string, unknown>>;

const { TOOLSCRIPT_TUNNEL_MODELS: names = '', TOOLSCRIPT_TUNNEL_LOG: log = '' } = process.env;
const MODELS = names.split(',').filter((name) => name !== '');

/** The model that the suite uses in a format. In Chat, it must accept tools. */
function tunnelModel(api: ProviderApi): string | undefined {
  const model = MODELS.find((name) => isClaude(name) === (api === 'anthropic-messages'));
  return model !== undefined && (api !== 'openai-chat' || modelFacts(model).chatTools !== 'never') ? model : undefined;
}

/** A provider of an unknown model; in the wind tunnel, of the model of a family. */
export function suiteProvider(api: ProviderApi, options: Omit<ProviderOptions, 'model'>): ModelProvider {
  const model = tunnelModel(api);
  const common = { environment: {}, ...options };
  if (model === undefined) return createProvider(api, { model: 'model-1', ...common });
  // As createProvider sets it for the service itself.
  const chat = { maxTokensName: 'max_completion_tokens', toolsWithReasoning: false, ...options.chat } as const;
  return createProvider(api, { ...common, model, chat, fetch: judgedFetch(api, model) });
}

/** Shared, because a thread of a test may have several providers. */
const seals = new SealedBlocks();

/** Sends requests as they are, and logs what the service of the model would say. */
function judgedFetch(api: ProviderApi, model: string): NonNullable<ProviderOptions['fetch']> {
  const service = new TunnelService(api, model, () => ({ body: '' }), { seals });
  return async (url, init) => {
    const body = JSON.parse(init.body as string) as Json;
    const refusals = service.problemsOf(body).map((problem) => problem.slice(0, 1000));
    const { currentTestName: test, testPath: file } = expect.getState();
    appendFileSync(log, `${JSON.stringify({ api, model, file, test, refusals })}\n`);
    const response = await fetch(url, init);
    return new Response(response.body && learned(response.body, (answer) => service.learn(body, answer)), response);
  };
}

/** The stream, whose text so far is known before each chunk is read. */
function learned(stream: ReadableStream<Uint8Array>, learn: (text: string) => void): ReadableStream<Uint8Array> {
  const decoder = new TextDecoder();
  let text = '';
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        text += decoder.decode(chunk, { stream: true });
        learn(text);
        controller.enqueue(chunk);
      },
    }),
  );
}
