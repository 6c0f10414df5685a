import { SpanStatusCode, type Attributes, type Span } from '@opentelemetry/api';
import type { Usage } from '../protocol/index.js';

/*
 * The names of OpenTelemetry's semantic conventions for generative AI, as of 1.41. They are still under development,
 * so each is defined only here. No attribute holds text of users, models, scripts or tools.
 */

export interface AgentDescription {
  readonly slug: string;
  readonly name?: string | undefined;
}

export interface ModelDescription {
  readonly api: string;
  readonly model: string;
}

export function agentAttributes(agent: AgentDescription | undefined, model: ModelDescription | undefined): Attributes {
  return {
    'gen_ai.operation.name': 'invoke_agent',
    ...(agent === undefined ? {} : { 'gen_ai.agent.id': agent.slug, 'gen_ai.agent.name': agent.name ?? agent.slug }),
    ...(model === undefined ? {} : modelAttributes(model)),
  };
}

export function modelAttributes({ api, model }: ModelDescription): Attributes {
  return { 'gen_ai.provider.name': PROVIDERS[api] ?? api, 'gen_ai.request.model': model };
}

/** The provider's name by wire format; the actual server may belong to another provider. */
const PROVIDERS: Readonly<Record<string, string>> = {
  'openai-responses': 'openai',
  'openai-chat': 'openai',
  'anthropic-messages': 'anthropic',
};

export function scriptAttributes(script: { id: string | undefined; language: string; callId: string }): Attributes {
  return {
    'gen_ai.operation.name': 'execute_script',
    'gen_ai.tool.call.id': script.callId,
    'toolscript.script.language': script.language,
    ...(script.id === undefined ? {} : { 'toolscript.script.id': script.id }),
  };
}

export function toolAttributes(call: { call_id: string; tool: string; effect: string }): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.tool,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': call.call_id,
    'toolscript.tool.effect': call.effect,
  };
}

const USAGE: Readonly<Record<string, string>> = {
  input_tokens: 'gen_ai.usage.input_tokens',
  output_tokens: 'gen_ai.usage.output_tokens',
  cache_read_tokens: 'gen_ai.usage.cache_read.input_tokens',
  cache_write_tokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoning_tokens: 'gen_ai.usage.reasoning.output_tokens',
};

export function usageAttributes(usage: Usage): Attributes {
  return Object.fromEntries(
    Object.entries(USAGE).flatMap(([member, name]) =>
      typeof usage[member] === 'number' ? [[name, usage[member]]] : [],
    ),
  );
}

/**
 * Marks the span as failed. `code`: from the error table or the provider, or the name of a thrown error. The error's
 * message is omitted, because the message may quote a user.
 */
export function markFailed(span: Span, code: string): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
