export * from './approval-gate.js';
export * from './approval-records.js';
export * from './approvals.js';
export * from './change-board.js';
export * from './document-store.js';
export * from './errors.js';
export * from './event-batches.js';
export * from './run-events.js';
export * from './event-log.js';
export * from './event-subscription.js';
export * from './events.js';
export * from './hosted-code.js';
export { INVISIBLE_CHARACTERS } from './invisible.js';
export * from './items.js';
export {
  isRecord,
  jsonDepthExceeds,
  MAX_JSON_DEPTH,
  measureJson,
  present,
  type JsonExtent,
  type JsonObject,
  type JsonValue,
} from './json.js';
export { limitedSignal } from './limited-signal.js';
export * from './limits.js';
export * from './model.js';
export * from './operations.js';
export * from './outcome.js';
export * from './new-thread.js';
export * from './run-interruption.js';
export * from './run-store.js';
export * from './sandbox.js';
export * from './saved-file.js';
export * from './saved-script.js';
export * from './script.js';
export * from './store-errors.js';
export * from './store-shapes.js';
export * from './store.js';
export * from './thread-store.js';
export * from './tools.js';
export * from './trace-context.js';
