export { PROVIDER_APIS, type IncompleteReason, type ProviderApi } from './answer-writer.js';
export type { AnswerBody } from './body.js';
export { createProvider, OLLAMA_BASE_URL, type ProviderOptions } from './create-provider.js';
export { decodeStream } from './decode-stream.js';
export { withFallbacks } from './fallbacks.js';
export type { MessagesSettings } from './anthropic-messages/encode.js';
export type { ChatSettings } from './openai-chat/encode.js';
export type { ResponsesSettings } from './openai-responses/encode.js';
export { codeOfCall } from '../protocol/hosted-code.js';
export type { Clock } from './transport/clock.js';
export type { Fetch } from './transport/post.js';
export type { Environment } from './transport/proxy.js';
export type { RetryOptions } from './transport/failures.js';
export {
  ScenarioSchema,
  scriptedModel,
  startScriptedServer,
  type Scenario,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedServer,
  type ScriptedServerOptions,
} from './scripted/index.js';
