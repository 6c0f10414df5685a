import { z } from 'zod';

/** A position in a distributed trace, as the headers of W3C Trace Context carry it. */
export const TraceContextSchema = z.strictObject({
  /** Version 00: the ids of the trace and of the span, neither of which is all zeros, and the flags. */
  traceparent: z.string().regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/u),
  tracestate: z.string().max(512).optional(),
});
export type TraceContext = z.infer<typeof TraceContextSchema>;

/** The trace context in the headers of a request, or in the `trace` of an event. Undefined if there is no valid one. */
export function readTraceContext(source: Readonly<Record<string, unknown>> | undefined): TraceContext | undefined {
  const { traceparent, tracestate } = source ?? {};
  const whole = TraceContextSchema.safeParse({ traceparent, tracestate });
  if (whole.success) return whole.data;
  // An invalid tracestate does not invalidate the trace.
  return TraceContextSchema.safeParse({ traceparent }).data;
}
