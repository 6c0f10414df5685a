import type { IncomingHttpHeaders } from 'node:http';
import { context, trace } from '@opentelemetry/api';
import { readTraceContext, type TraceContext } from '@toolscript/core/protocol';
import { traceContextOf } from '@toolscript/core/tracing';

/**
 * The trace that a request belongs to: the request's own span if the host traces HTTP, otherwise the trace in its
 * headers. Undefined if there is none.
 */
export function requestTrace(headers: IncomingHttpHeaders): TraceContext | undefined {
  const active = trace.getSpan(context.active());
  return (active === undefined ? undefined : traceContextOf(active)) ?? readTraceContext(headers);
}
