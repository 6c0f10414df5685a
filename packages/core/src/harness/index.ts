export type { RunScriptInput, RunScriptInputSchema, RunScriptTool } from './as-tool.js';
export type { RunOptions } from '../protocol/run-context.js';
export { createHarness } from './harness.js';
export type {
  AsToolOptions,
  CallToolOptions,
  DecideResult,
  Harness,
  HarnessStats,
  HarnessTools,
  InstructionsOptions,
  ProcessTextOptions,
  ResumeOptions,
  RevertOptions,
  RunScriptOptions,
  TypecheckStats,
  WaitScriptOptions,
} from './harness-types.js';
export {
  listScripts,
  pruneScripts,
  type KeptScript,
  type KeptScriptDetails,
  type PruneOptions,
} from '../run/durability/kept-scripts.js';
export type { HarnessOptions } from './options.js';
export { recoverScripts, type RecoverScriptsOptions } from './recover-scripts.js';
export type { Decisions } from '../run/resumption.js';
export type { RevertResult, RevertibleCall } from '../run/reverts.js';
