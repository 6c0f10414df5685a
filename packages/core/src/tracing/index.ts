export type { AgentDescription } from './attributes.js';
export { traceContextOf } from './span-context.js';
export type { TracedRun, TracingOptions } from './run-trace.js';
export { traceRun } from './trace-run.js';
