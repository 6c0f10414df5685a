export type { RunScriptInput, RunScriptInputSchema, RunScriptTool } from './as-tool.js';
export {
  createHarness,
  type Harness,
  type HarnessStats,
  type InstructionsOptions,
  type ProcessTextOptions,
  type RunOptions,
  type RunScriptOptions,
} from './harness.js';
export type { HarnessOptions } from './options.js';
export { DISABLED_WARNING, type AnswerText } from './process-text.js';
