export * from './harness/index.js';
export * from './protocol/index.js';
export { defineTool, type ToolDefinition } from './tools/index.js';
export { QuickJsPool, type QuickJsOptions } from './sandbox/index.js';
export { renderForPerson } from './approvals/index.js';
export { createCompiler, type Compiler } from './script/index.js';
