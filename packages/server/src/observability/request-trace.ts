import type { IncomingHttpHeaders } from 'node:http';
import { context, trace } from '@opentelemetry/api';
import { readTraceContext } from '@toolscript/core/internal';
import type { TraceContext } from '@toolscript/core/protocol';
import { spanTraceContext } from '@toolscript/core/tracing';

/**
 * The trace to which a request belongs: the request's own span if the host traces HTTP, otherwise the trace in its
 * headers. Returns undefined for a request without a trace.
 */
export function requestTrace(headers: IncomingHttpHeaders): TraceContext | undefined {
  const active = trace.getSpan(context.active());
  return (active === undefined ? undefined : spanTraceContext(active)) ?? readTraceContext(headers);
}
