export { observeRuns, requestObserver } from './observers.js';
export { requestTrace } from './request-trace.js';
export { ServiceMetrics } from './service-metrics.js';
export { redactedLogger } from './service-log.js';
