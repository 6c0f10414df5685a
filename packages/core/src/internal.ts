/**
 * UNSTABLE: for the packages of this repository only. Any release may change or remove these names without a note in
 * the changelog. Use `@toolscript/core` or `@toolscript/core/ports`, or ask for the name there.
 */

// Scripts and sandboxes
export { renderForPerson } from './calls/approvals/index.js';
export type { SavedResult, SavedScript, SavedScriptCall } from './protocol/saved-script.js';
export { savedScriptId } from './protocol/saved-script.js';
export { isolatedVmInstall, isolatedVmMissing, QuickJsPool } from './sandbox/index.js';
export { ToolNames } from './sandbox/quickjs/guest-texts.js';
export { PROTOCOL_VERSION } from './sandbox/quickjs/image.js';
export { GuestBreach, readGuestThrow, saysEnded } from './sandbox/quickjs/outbox.js';
export { ColumnReader, endSegment, readSegment, settlementBatch, writeInit } from './sandbox/worker/guest-messages.js';
export { ReportKind } from './sandbox/worker/messages.js';
export { FairQueue, type QueueTurn } from './protocol/fair-queue.js';
export { createCompiler, type Compiler } from './script/index.js';
export { identifierName } from './text/identifier-name.js';

// Agents and their models
export { withModelFacts } from './agent/agent-config.js';
export { addNeeded } from './agent/needed-items.js';
export { REASONING_EFFORTS } from './protocol/reasoning-efforts.js';
export { MODEL_FAMILIES, type ModelFacts } from './protocol/model-families.js';
export { ownService } from './protocol/model-services.js';

// Runs of agents
export {
  compactingPart,
  performPart,
  recoveredPart,
  resumedPart,
  resumedScriptPart,
  startedPart,
  type RunPart,
} from './agent/run-agent.js';

// Providers
export { askForModels } from './providers/create-provider.js';

// Stores
export {
  checkHeapBytes,
  checkHeapDraft,
  checkHeapId,
  checkHeapInheritance,
  checkJournalLines,
  checkScriptId,
  checkSha256,
  demandHash,
  heapBytes,
  heapNotFound,
  MemoryHeaps,
  packImage,
  unpackImage,
} from './stores/index.js';
export {
  createPrivateFile,
  isAlive,
  isHeld,
  isOfThisBoot,
  obtainKeyFile,
  ownIdentity,
  parseIdentity,
  PrivateJsonFile,
  readKeyFile,
  readPrivateFile,
  withFileLock,
  writePrivateFile,
} from './durable-files/index.js';
export type { ProcessIdentity } from './durable-files/index.js';
export { optionsCapability, suspensionSeal } from './harness/open-services.js';
export { LAG_SAMPLE } from './protocol/event-log.js';
export { isFinalRunState } from './protocol/run-store.js';
export { fileAbout, filePlace, readThreadFile } from './protocol/saved-file.js';
export { PASSING_THREADS } from './protocol/heap-store.js';
export { isScriptId } from './protocol/store.js';

// Values, events and time
export { DECISION_GUARD_MS } from './protocol/decision-guard.js';
export { previewText } from './text/preview-text.js';
export { mergeKeptShapes } from './schema/observed-shapes.js';
export { namesPrototype } from './schema/json-text.js';
export { INVISIBLE_CHARACTERS, isRecord, JsonMeasure, jsonTextProblem, MESSAGE_LIMITS } from './internal-data.js';
export { jsonDepthExceeds, MAX_JSON_DEPTH, present } from './protocol/json.js';
export type { Defined } from './protocol/json.js';
export { toCamelCase, toSnakeCase } from './protocol/spelling.js';
export { limitedSignal, MAX_TIMER_MS } from './protocol/limited-signal.js';
export { ErrorCodeSchema, OperationSchema } from './protocol/operations.js';
export { narrowerMode } from './protocol/outcome.js';
export { eventId } from './protocol/run-events.js';
export { readTraceContext } from './protocol/trace-context.js';
export { imageHolders, withoutImageData } from './history/images.js';
