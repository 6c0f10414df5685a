import { ToolscriptUsageError } from './errors.js';

/** The thread, run or turn that a write names is not in the store: it never was, or it was deleted. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

/** An idempotency key of the same principal came with another request before. Use a new key for a new request. */
export class IdempotencyConflictError extends Error {
  override readonly name = 'IdempotencyConflictError';
}

/** Another run of the thread is queued or running, so that a run cannot begin there at once. */
export class ThreadBusyError extends Error {
  override readonly name = 'ThreadBusyError';
}

/**
 * An event that cannot stand at its place. Nothing of its batch was written. `gap`: events before it are missing.
 * `conflict`: another event has its `seq`. `ended`: the run's last event is before it. The message names the `seq`
 * that is expected next.
 */
export class EventOrderError extends Error {
  override readonly name = 'EventOrderError';
}

/** A cursor that no list of this kind has given out. Begin the list again without it. */
export class InvalidCursorError extends ToolscriptUsageError {}

/** The database itself failed. The message names the file or server, the cause, and how to mend it. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
