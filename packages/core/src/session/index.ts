export { roundMs } from './final-operations.js';
export { unwrittenJournal } from './journal.js';
export { runScriptSession } from './script-session.js';
export type { SessionEvent } from './session-events.js';
