export { abortReason } from './session-outcome.js';
export { afterInterruption, afterSuspension, type ResumeState, type TaskEnd } from './resume-state.js';
export { failedOutcome, plainOutcome, plainRunning } from './plain-outcome.js';
export { noopJournal, type TapeDelivery, type ScriptJournal, type TapeBatch, type TapeCall } from './journal.js';
export { runScriptSession } from './script-session.js';
export type { CellStart, ScriptStart } from './script-start.js';
export {
  hasEnded,
  type OpenTask,
  type RestoredTask,
  type ScriptTasks,
  type TaskReport,
  type TaskStart,
  type TaskStatus,
  type TaskSummary,
} from './script-tasks.js';
export type {
  SessionCell,
  SessionEnd,
  SessionFacadeHooks,
  SessionScript,
  SessionServices,
  SuspendedEnd,
} from './session-options.js';
export type { InterruptedScript, SuspendedScript } from './suspended-script.js';
