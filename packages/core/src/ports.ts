/**
 * The names for implementers of a runtime, a store or a provider. `@toolscript/core/testing` has the conformance suite
 * of each port, and `@toolscript/core/protocol` the shapes of what is stored and sent.
 */

// The sandbox of scripts
export type {
  GuestError,
  GuestThrow,
  ImageSource,
  RuntimeFeature,
  SandboxCall,
  SandboxCapture,
  SandboxEnd,
  SandboxJob,
  SandboxLimits,
  SandboxObserver,
  SandboxRun,
  SandboxRuntime,
  SandboxSegment,
  SandboxStats,
  Settlement,
} from './protocol/sandbox.js';

// The store of scripts
export type {
  AppendOptions,
  Claim,
  ClaimStore,
  HarnessStore,
  ImageStore,
  JournalContent,
  JournalDamage,
  JournalStore,
  ListedScript,
  ListQuery,
  ScriptPage,
  ScriptStatus,
  StoredState,
  ClaimedJournal,
  TakeOptions,
  WaitingApproval,
} from './protocol/store.js';
export { JournalFullError, StaleEpochError } from './protocol/store.js';

// The store of the programs of conversations
export type {
  HeapCollection,
  HeapDraft,
  HeapInfo,
  HeapInheritance,
  HeapLimits,
  HeapStore,
  OldThreads,
  StoredHeap,
} from './protocol/heap-store.js';
export { HEAP_LIMITS } from './protocol/heap-store.js';

// The stores of a service
export type { ApprovalPage, ApprovalQuery, DecidedApproval } from './protocol/approval-records.js';
export { ApprovalQuerySchema } from './protocol/approval-records.js';
export type {
  DocumentInfo,
  DocumentLimits,
  DocumentPage,
  DocumentQuery,
  DocumentStore,
  StoredDocument,
} from './protocol/document-store.js';
export { CHANGE_MEMORY_MS, DOCUMENT_LIMITS, DocumentQuerySchema } from './protocol/document-store.js';
export type {
  DeadLetter,
  DeadLetterPage,
  DeadLetterQuery,
  DeliveryOptions,
  EventLog,
  EventPage,
  EventRange,
  GroupLag,
  LoggedRun,
  LoggedRunPage,
  LoggedRunQuery,
  LogPosition,
  SubscribeOptions,
  RunWatchOptions,
  WatchOptions,
} from './protocol/event-log.js';
export {
  DeadLetterQuerySchema,
  DEFAULT_EVENT_PAGE,
  DeliveryOptionsSchema,
  EventRangeSchema,
  MAX_DELIVERIES,
  MAX_EVENT_PAGE_LENGTH,
} from './protocol/event-log.js';
export type {
  ApprovalDraft,
  ClaimedRun,
  ClaimOptions,
  CreatedRun,
  Renewal,
  RunEnd,
  RunPage,
  RunQuery,
  RunStore,
  WorkerNotice,
} from './protocol/run-store.js';
export {
  ApprovalDraftSchema,
  ClaimOptionsSchema,
  RunEndSchema,
  RunQuerySchema,
  WorkerNoticeSchema,
} from './protocol/run-store.js';
export {
  DocumentConflictError,
  DocumentLimitError,
  EventOrderError,
  IdempotencyConflictError,
  InvalidCursorError,
  NotFoundError,
  StoreUnavailableError,
  StorageLimitError,
  ThreadBusyError,
} from './protocol/store-errors.js';
export { DEFAULT_PAGE, MAX_PAGE, type OwnerFilter } from './protocol/store-shapes.js';
export type {
  ItemPage,
  ItemQuery,
  ServiceStores,
  ThreadDraft,
  ThreadInstructions,
  ThreadPage,
  ThreadQuery,
  ThreadStore,
  TurnItems,
} from './protocol/thread-store.js';
export {
  ItemQuerySchema,
  ThreadDraftSchema,
  ThreadInstructionsSchema,
  ThreadQuerySchema,
} from './protocol/thread-store.js';

// The provider of a model
export type {
  CustomTool,
  FunctionTool,
  ModelCapabilities,
  ModelPart,
  ModelProvider,
  ModelRequest,
  ModelTool,
  PromptCache,
  ReasoningEffort,
  ResolveImages,
  StreamOptions,
  ToolChoice,
} from './protocol/model.js';
export { EventEnvelopes, type RunIdentity } from './protocol/run-events.js';
