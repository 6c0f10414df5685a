import { SpanKind, trace, type Context, type Link, type Span, type Tracer } from '@opentelemetry/api';
import {
  readTraceContext,
  type EventPayload,
  type ModelProvider,
  type StreamEvent,
  type TraceContext,
} from '../protocol/index.js';
import { agentAttributes, markFailed, usageAttributes, type AgentDescription } from './attributes.js';
import { contextUnder, remoteSpanContext, spanTraceContext } from './span-context.js';
import { tracedModel } from './traced-model.js';
import { WorkSpans } from './work-spans.js';

export interface TracingOptions {
  /** The trace context of the request that began the run. */
  readonly parent?: TraceContext | undefined;
  /** The tracer. Default: that of the global tracer provider, which the host's SDK registers. */
  readonly tracer?: Tracer | undefined;
}

export interface TracedRun {
  readonly agent?: AgentDescription | undefined;
  readonly provider?: ModelProvider | undefined;
  /** The stored events of the run's earlier parts. */
  readonly events?: readonly StreamEvent[] | undefined;
}

/**
 * The spans of one part of a run: from its start, resume or recovery to its end or its next suspension. All parts of
 * a run are in one trace; each links to the previous one.
 */
export class RunTrace {
  readonly #span: Span;
  readonly #context: Context;
  readonly #tracer: Tracer;
  readonly #trace: TraceContext;
  readonly #work: WorkSpans;
  #threadId: string | undefined;

  /** Starts a trace. Returns undefined if nothing is traced. */
  static start(
    run: TracedRun,
    { parent, tracer = trace.getTracer('toolscript') }: TracingOptions,
  ): RunTrace | undefined {
    const { agent, provider, events = [] } = run;
    const earlier = events.map(({ trace: kept }) => readTraceContext(kept)).filter((kept) => kept !== undefined);
    const previous = earlier.at(-1);
    const links: Link[] = previous === undefined ? [] : [{ context: remoteSpanContext(previous) }];
    const name = agent === undefined ? 'invoke_agent' : `invoke_agent ${agent.name ?? agent.slug}`;
    const attributes = agentAttributes(agent, provider);
    const options = { kind: SpanKind.INTERNAL, attributes, links };
    const span = tracer.startSpan(name, options, contextUnder(parent ?? earlier[0]));
    const own = spanTraceContext(span);
    if (own === undefined) return undefined;
    const started = new RunTrace(span, own, tracer);
    for (const event of events) started.#work.recall(event);
    return started;
  }

  private constructor(span: Span, own: TraceContext, tracer: Tracer) {
    this.#span = span;
    this.#trace = own;
    this.#tracer = tracer;
    this.#context = trace.setSpan(contextUnder(undefined), span);
    this.#work = new WorkSpans(tracer, this.#context);
  }

  /** Returns the provider, with a span for each of its answers. */
  model(provider: ModelProvider): ModelProvider {
    return tracedModel(provider, {
      tracer: this.#tracer,
      context: this.#context,
      attributes: () => (this.#threadId === undefined ? {} : { 'gen_ai.conversation.id': this.#threadId }),
      onStart: (answerId, span) => {
        if (answerId !== undefined) this.#work.answerStarted(answerId, span);
      },
    });
  }

  /** Takes the run's next event, and returns it with its `trace`. */
  take(event: StreamEvent): StreamEvent {
    if (this.#threadId === undefined) this.#name(event);
    this.#work.take(event);
    this.#takeEnd(event.payload);
    return { ...event, trace: this.#trace };
  }

  end(): void {
    this.#work.end();
    this.#span.end();
  }

  fail(error: unknown): void {
    markFailed(this.#span, error instanceof Error ? error.name : '_OTHER');
  }

  #name({ run_id: runId, thread_id: threadId, turn_id: turnId }: StreamEvent): void {
    this.#threadId = threadId;
    const ids = { 'gen_ai.conversation.id': threadId, 'toolscript.run.id': runId, 'toolscript.turn.id': turnId };
    this.#span.setAttributes(ids);
  }

  #takeEnd(payload: EventPayload): void {
    if (payload.type === 'response_error') markFailed(this.#span, payload.code);
    if (payload.type !== 'response_done') return;
    this.#span.setAttribute('toolscript.run.status', payload.status);
    if (payload.usage !== undefined) this.#span.setAttributes(usageAttributes(payload.usage));
  }
}
