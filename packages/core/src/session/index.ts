export { unwrittenJournal, type ScriptJournal } from './journal.js';
export { runScriptSession, type SessionFacadeHooks, type SessionOptions } from './script-session.js';
export type { SessionEvent } from './session-events.js';
