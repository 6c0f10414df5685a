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
export { guardDestinations } from './destinations.js';
export * from './registry.js';
