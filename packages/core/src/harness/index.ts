export type { RunScriptInput, RunScriptInputSchema, RunScriptTool } from './as-tool.js';
export type { AuditEntry, AuditLog } from './audit.js';
export { createHarness } from './harness.js';
export type {
  AsToolOptions,
  CallToolOptions,
  Decided,
  Harness,
  HarnessStats,
  InstructionsOptions,
  ProcessTextOptions,
  ResumeOptions,
  RunOptions,
  RunScriptOptions,
} from './harness-types.js';
export {
  listScripts,
  pruneScripts,
  type KeptScript,
  type KeptScriptDetails,
  type KeptState,
  type PruneOptions,
} from './kept-scripts.js';
export type { HarnessOptions } from './options.js';
export { recoverScripts, type RecoverScriptsOptions } from './recover-scripts.js';
export type { Decisions } from './resumption.js';
export type { SuspensionKey } from './suspension-envelope.js';
