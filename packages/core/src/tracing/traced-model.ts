import { SpanKind, type Attributes, type Context, type Span, type Tracer } from '@opentelemetry/api';
import type { EventPayload, ModelProvider, ModelRequest, StreamOptions } from '../protocol/index.js';
import { present } from '../protocol/json.js';
import { markFailed, modelAttributes, usageAttributes } from './attributes.js';
import { spanTraceContext } from './span-context.js';

export interface ModelTrace {
  readonly tracer: Tracer;
  /** The context in which the spans start. */
  readonly context: Context;
  /** Returns the attributes that are added to each span when it ends. */
  readonly attributes: () => Attributes;
  /** Called after the span of an answer has started. */
  readonly onStart: (answerId: string | undefined, span: Span) => void;
}

/**
 * Returns the provider with a `chat` span for each answer. The request to the model carries the trace context of the
 * span.
 */
export function tracedModel(provider: ModelProvider, trace: ModelTrace): ModelProvider {
  return {
    api: provider.api,
    model: provider.model,
    capabilities: provider.capabilities,
    stream: (request, options = {}) => tracedAnswer(provider, request, options, trace),
  };
}

async function* tracedAnswer(
  provider: ModelProvider,
  request: ModelRequest,
  options: StreamOptions,
  { tracer, context, attributes, onStart }: ModelTrace,
): AsyncGenerator<EventPayload, void, undefined> {
  const start = { kind: SpanKind.CLIENT, attributes: requestAttributes(provider, request) };
  const span = tracer.startSpan(`chat ${provider.model}`, start, context);
  onStart(options.answerId, span);
  const answer = new AnswerSpan(span);
  try {
    const headers = { ...options.headers, ...spanTraceContext(span) };
    for await (const payload of provider.stream(request, { ...options, headers })) {
      answer.take(payload);
      yield payload;
    }
  } catch (error) {
    markFailed(span, error instanceof Error ? error.name : '_OTHER');
    throw error;
  } finally {
    span.setAttributes(attributes()).end();
  }
}

function requestAttributes(provider: ModelProvider, { maxOutputTokens, temperature }: ModelRequest): Attributes {
  return {
    'gen_ai.operation.name': 'chat',
    ...modelAttributes(provider),
    'gen_ai.request.stream': true,
    ...present({ 'gen_ai.request.max_tokens': maxOutputTokens, 'gen_ai.request.temperature': temperature }),
  };
}

/** Records the answer's own data as attributes of a span. */
class AnswerSpan {
  readonly #span: Span;
  readonly #startedAt = performance.now();
  #hasContent = false;

  constructor(span: Span) {
    this.#span = span;
  }

  take(payload: EventPayload): void {
    switch (payload.type) {
      case 'response_start':
        this.#note('gen_ai.response.id', payload.response_id);
        return this.#note('gen_ai.response.model', payload.model);
      case 'item_start':
        return this.#content();
      case 'usage_update':
        return void this.#span.setAttributes(usageAttributes(payload.usage));
      case 'response_error':
        return markFailed(this.#span, payload.code);
      case 'response_done':
        return void this.#span.setAttribute('gen_ai.response.finish_reasons', [finishReason(payload)]);
    }
  }

  #note(name: string, value: unknown): void {
    if (typeof value === 'string') this.#span.setAttribute(name, value);
  }

  #content(): void {
    if (this.#hasContent) return;
    this.#hasContent = true;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    this.#span.setAttribute('gen_ai.response.time_to_first_chunk', seconds);
  }
}

function finishReason(payload: Extract<EventPayload, { type: 'response_done' }>): string {
  const reason = [payload.stop_reason, payload.incomplete_reason].find((given) => typeof given === 'string');
  return (reason as string | undefined) ?? payload.status;
}
