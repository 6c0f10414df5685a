/**
 * The names for builders of agents. Implementers of a store, a runtime or a provider find their types in
 * `@toolscript/core/ports`, and all shapes that cross a process are in `@toolscript/core/protocol`.
 */
export { createHarness } from './harness/index.js';
export type {
  AsToolOptions,
  CallToolOptions,
  DecideResult,
  Decisions,
  Harness,
  HarnessOptions,
  HarnessStats,
  HarnessTools,
  InstructionsOptions,
  ProcessTextOptions,
  ResumeOptions,
  RevertResult,
  RevertibleCall,
  RevertOptions,
  RunOptions,
  RunScriptOptions,
  RunScriptTool,
  TypecheckStats,
  WaitScriptOptions,
} from './harness/index.js';
export type { AnswerText } from './answer/index.js';
export { defineTool, guardDestinations } from './tools/index.js';
export type {
  ApprovalQuestion,
  DefinedTool,
  DefineToolOptions,
  ToolCatalog,
  ToolDefinition,
  ToolInput,
  ToolOutput,
  ToolPack,
  ToolResult,
  ToolSchema,
  ToolSummary,
} from './tools/index.js';
export type { StandardSchema } from './schema/index.js';
export { findApprovalRule } from './calls/approvals/index.js';
export { ToolCallError, ToolscriptUsageError } from './protocol/errors.js';
export type { UsageErrorCode } from './protocol/usage-errors.js';
export type {
  ApprovalCallback,
  ApprovalPolicy,
  ApprovalRequest,
  ApprovalRule,
  AuditEntry,
  AuditLog,
  Decision,
  Diagnostic,
  ErrorCode,
  EventPayload,
  FlowCall,
  FlowPolicy,
  HarnessMode,
  ImagePart,
  JsonValue,
  Limits,
  LimitsInput,
  LogEntry,
  Operation,
  Outcome,
  OutcomeMetadata,
  OutputItem,
  PlannedCall,
  Response,
  ScriptFailure,
  StreamEvent,
  Tool,
  ResultShapes,
  ToolCallContext,
  ToolEffect,
} from './protocol/index.js';
export { fileStore, memoryStore } from './stores/index.js';
export type { FileStoreOptions, MemoryStoreOptions } from './stores/index.js';
export { listScripts, pruneScripts, recoverScripts } from './harness/index.js';
export type { KeptScript, KeptScriptDetails, PruneOptions, RecoverScriptsOptions } from './harness/index.js';
