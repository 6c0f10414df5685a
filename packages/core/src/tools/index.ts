export { parseJson } from './json-text.js';
export * from './catalog.js';
export * from './declarations.js';
export {
  defineTool,
  type ApprovalQuestion,
  type DefinedTool,
  type DefineToolOptions,
  type ToolDefinition,
  type ToolInput,
  type ToolOutput,
  type ToolResult,
  type ToolSchema,
} from './define-tool.js';
export { idempotencyKey } from './call-exchange.js';
export { abortedCall, endOfAborted, unknownEnd, unknownEndOf } from './call-errors.js';
export { createFacade } from './facade.js';
export type * from './facade-types.js';
export { compileJsonSchema } from './json-schema.js';
export { isObjectResult, judgeKnown } from './known-values.js';
export { createObservedShapes, type ObservedShapes } from './observed-shapes.js';
export * from './registry.js';
export type { StandardSchema } from './standard-schema.js';
