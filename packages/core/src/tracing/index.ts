export type { AgentDescription } from './attributes.js';
export { spanTraceContext } from './span-context.js';
export type { TracedRun, TracingOptions } from './run-trace.js';
export { tracePart, traceRun } from './trace-run.js';
