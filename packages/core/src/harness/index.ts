export type { RunScriptInput, RunScriptInputSchema, RunScriptTool } from './as-tool.js';
export type { AuditEntry, AuditLog } from '../run/audit.js';
export { createHarness } from './harness.js';
export type {
  AsToolOptions,
  CallToolOptions,
  Decided,
  Harness,
  HarnessStats,
  HarnessTools,
  InstructionsOptions,
  ProcessTextOptions,
  ResumeOptions,
  RevertOptions,
  RunOptions,
  RunScriptOptions,
  TypecheckStats,
} from './harness-types.js';
export {
  listScripts,
  pruneScripts,
  type KeptScript,
  type KeptScriptDetails,
  type KeptState,
  type PruneOptions,
} from '../durability/kept-scripts.js';
export type { HarnessOptions } from './options.js';
export { recoverScripts, type RecoverScriptsOptions } from './recover-scripts.js';
export type { Decisions } from '../run/resumption.js';
export type { Reverted, RevertibleCall, RevertStatus } from '../run/reverts.js';
export type { SuspensionKey, SuspensionKeys } from '../durability/suspension-envelope.js';
