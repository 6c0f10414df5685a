/**
 * The shapes that cross a process, with their zod schemas, and the ports. `@toolscript/core/ports` has the
 * other names that an implementer of a port needs.
 */

// Items and events
export { MAX_FILE_BYTES, MAX_FILES } from './protocol/attached-file.js';
export {
  CompactionItemSchema,
  DiagnosticSchema,
  ErrorItemSchema,
  FunctionCallItemSchema,
  FunctionCallOutputItemSchema,
  HostedCodeItemSchema,
  HostedCodeOutputItemSchema,
  FilePartSchema,
  ImagePartSchema,
  ItemErrorSchema,
  MAX_IMAGE_BYTES,
  MAX_IMAGES,
  MessageItemSchema,
  OperationItemSchema,
  OutputItemSchema,
  PlanItemSchema,
  PlannedCallSchema,
  ReasoningItemSchema,
  ResponseSchema,
  ResponseStatusSchema,
  ScriptExecutionItemSchema,
  ScriptExecutionOutputItemSchema,
  UsageSchema,
} from './protocol/items.js';
export type {
  FunctionCallItem,
  FunctionCallOutputItem,
  HostedCodeItem,
  HostedCodeOutputItem,
  FilePart,
  ImagePart,
  MessageItem,
  OutputItem,
  OutputItemType,
  PlanItem,
  ReasoningItem,
  Response,
  ResponseStatus,
  ScriptExecutionItem,
  ScriptExecutionOutputItem,
  Usage,
} from './protocol/items.js';
export { ApprovalRequestEventSchema, EventPayloadSchema, StreamEventSchema } from './protocol/events.js';
export type { EventPayload, EventType, StreamEvent } from './protocol/events.js';
export { TraceContextSchema, type TraceContext } from './protocol/trace-context.js';

// Scripts, calls and decisions
export { CATCHABLE_CODES, ERROR_TABLE, ToolCallError, ToolscriptUsageError } from './protocol/errors.js';
export type { ErrorCode, FailurePhase, ScriptFailure } from './protocol/errors.js';
export { USAGE_ERRORS, type UsageErrorCode, type UsageMistake } from './protocol/usage-errors.js';
export { AGENT_LIMITS, DEFAULT_LIMITS, LimitChangesSchema, LimitsSchema } from './protocol/limits.js';
export type { Limits, LimitsInput } from './protocol/limits.js';
export { HARNESS_MODES } from './protocol/outcome.js';
export type { HarnessMode, LogEntry, LogLevel, Outcome, OutcomeMetadata } from './protocol/outcome.js';
export type { Operation, OperationStatus } from './protocol/operations.js';
export type { Diagnostic, PlannedCall, ScriptFormat, ScriptLanguage } from './protocol/script.js';
export { ApprovalRequestSchema } from './protocol/approvals.js';
export { ProvenanceSchema } from './protocol/provenance.js';
export type {
  ArgumentOrigin,
  FlowCall,
  FlowPolicy,
  LiteralLabel,
  Provenance,
  ResultLabel,
  ScriptOrigin,
  ToolFlow,
  Trust,
} from './protocol/provenance.js';
export type {
  ApprovalCallback,
  ApprovalPolicy,
  ApprovalRequest,
  ApprovalRule,
  Decision,
  Remember,
} from './protocol/approvals.js';
export type { JsonObject, JsonValue } from './protocol/json.js';
export type {
  ApprovalMode,
  ApprovalPredicate,
  Tool,
  ToolCallContext,
  ToolCallers,
  ToolEffect,
  ValidationResult,
  ValidationIssue,
} from './protocol/tools.js';

// Threads, runs, approvals and documents
export { APPROVAL_STATES, ApprovalSchema, ApprovalStateSchema, DecisionSchema } from './protocol/approval-records.js';
export type { Approval, ApprovalState, StoredDecision } from './protocol/approval-records.js';
export {
  DocumentDeletionSchema,
  DocumentDraftSchema,
  DocumentKindSchema,
  DocumentPlaceSchema,
  DocumentScopeSchema,
} from './protocol/document-store.js';
export type {
  DocumentDeletion,
  DocumentDraft,
  DocumentKind,
  DocumentPlace,
  DocumentScope,
} from './protocol/document-store.js';
export { DeliverySchema, type Delivery } from './protocol/event-log.js';
export { BranchPointSchema, NewThreadSchema, type BranchPoint, type NewThread } from './protocol/new-thread.js';
export {
  ACTIVE_RUN_STATES,
  FINAL_RUN_STATES,
  RunDraftSchema,
  RunReasonSchema,
  RunSchema,
  RunStateSchema,
  TurnSchema,
} from './protocol/run-store.js';
export type { Run, RunDraft, RunReason, RunState, StorageBounds, Turn } from './protocol/run-store.js';
export { FileAboutSchema, FileSourceSchema, type FileAbout, type FileSource } from './protocol/saved-file.js';
export { PageQuerySchema, RunFenceSchema, StoreIdSchema, TimeSchema, type RunFence } from './protocol/store-shapes.js';
export { ThreadSchema, type Thread } from './protocol/thread-store.js';

// The ports
export type { DocumentStore } from './protocol/document-store.js';
export type { EventLog } from './protocol/event-log.js';
export type { ModelProvider } from './protocol/model.js';
export type { RunStore } from './protocol/run-store.js';
export type { ScriptCapability } from './protocol/script-capability.js';
export type { SandboxRuntime } from './protocol/sandbox.js';
export type { HarnessStore } from './protocol/store.js';
export type { ServiceStores, ThreadStore } from './protocol/thread-store.js';
