import {
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  trace,
  type Context,
  type Span,
  type SpanContext,
} from '@opentelemetry/api';
import type { TraceContext } from '../protocol/index.js';

/*
 * These functions convert trace contexts without the host's propagator, because the headers must follow the W3C
 * standard in every configuration of the host.
 */

export function remoteSpanContext({ traceparent, tracestate }: TraceContext): SpanContext {
  const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string];
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
}

/**
 * The trace context of the span. Undefined if nothing is traced: the host has no SDK, and the request had no trace
 * context.
 */
export function spanTraceContext(span: Span): { traceparent: string; tracestate?: string } | undefined {
  const context = span.spanContext();
  if (!isSpanContextValid(context)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = context;
  const tracestate = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`,
    ...(tracestate === undefined || tracestate === '' ? {} : { tracestate }),
  };
}

/** The context in which a child of `parent` starts. */
export function contextUnder(parent: TraceContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remoteSpanContext(parent));
}
