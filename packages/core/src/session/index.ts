export { afterInterruption, afterSuspension, type EarlierLife } from './earlier-life.js';
export { roundMs } from './final-operations.js';
export { unwrittenJournal, type Delivery, type ScriptJournal } from './journal.js';
export { runScriptSession, type SessionEnd, type SessionFacadeHooks, type SuspendedEnd } from './script-session.js';
export type { ScriptStart } from './script-start.js';
export type { OpenTask, ScriptTasks, TaskReport, TaskStart, TaskStatus, TaskSummary } from './script-tasks.js';
export type { SessionEvent } from './session-events.js';
export type { InterruptedScript, SuspendedScript } from './suspended-script.js';
export type { TapeBatch, TapeCall } from './tape.js';
