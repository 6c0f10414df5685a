export * from './harness/index.js';
export type { AnswerText, PayloadSink } from './answer/index.js';
export * from './protocol/index.js';
export { findApprovalRule, renderForPerson, type RenderOptions } from './approvals/index.js';
export {
  IsolatedVmPool,
  isolatedVmFile,
  isolatedVmInstall,
  QuickJsPool,
  type IsolatedVmOptions,
  type QuickJsOptions,
} from './sandbox/index.js';
export {
  createCompiler,
  createDetector,
  detectScripts,
  type CompileOptions,
  type Compiler,
  type CompilerOptions,
  type CompilerStats,
  type Detector,
  type DetectorEvent,
  type DetectorOptions,
  type TypeChecker,
} from './script/index.js';
export {
  checkJournalLines,
  checkScriptId,
  checkSha256,
  demandHash,
  fileStore,
  isAlive,
  memoryDocuments,
  memoryEventLog,
  memoryStore,
  memoryStores,
  obtainKeyFile,
  ownIdentity,
  packImage,
  parseIdentity,
  readKeyFile,
  unpackImage,
  withFileLock,
  writePrivateFile,
  type FileStoreOptions,
  type KeyFileOptions,
  type MemoryStoreOptions,
  type MemoryStores,
  type MemoryStoresOptions,
  type ProcessIdentity,
} from './stores/index.js';
export { identifierName } from './text/identifier-name.js';
export {
  defineTool,
  type ApprovalQuestion,
  type DefinedTool,
  type DefineToolOptions,
  type StandardSchema,
  type ToolCatalog,
  type ToolDefinition,
  type ToolInput,
  type ToolPack,
  type ToolResult,
  type ToolSchema,
  type ToolSummary,
} from './tools/index.js';
