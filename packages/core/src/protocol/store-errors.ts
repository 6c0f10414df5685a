import { ToolscriptUsageError } from './errors.js';

/** The thread, run or turn that a write names does not exist, was deleted, or belongs to another principal. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

/** An idempotency key of the same principal belongs to a different request. Use a new key for a new request. */
export class IdempotencyConflictError extends Error {
  override readonly name = 'IdempotencyConflictError';
}

/**
 * A run of the thread is queued or running, so that no other run of the thread can start at once; or a turn that a
 * branch would copy has not ended.
 */
export class ThreadBusyError extends Error {
  override readonly name = 'ThreadBusyError';
}

/**
 * A thread, or all threads of a principal, would be larger than the `bounds` of a run; or a heap, or all heaps of a
 * principal, would be larger than the limits of their store. The message names the limit.
 */
export class StorageLimitError extends Error {
  override readonly name = 'StorageLimitError';
}

/**
 * An event does not fit its position, and nothing of its batch was written. Either events before it are missing, or a
 * different event has its `seq`, or the run has ended. In the first two cases, the message names the expected `seq`.
 */
export class EventOrderError extends Error {
  override readonly name = 'EventOrderError';
}

/** The cursor was not created by the list that it is used for. Start the list again without a cursor. */
export class InvalidCursorError extends ToolscriptUsageError {}

/** The document's newest version is not the one that the writer expected. The message names both versions. */
export class DocumentConflictError extends Error {
  override readonly name = 'DocumentConflictError';
}

/** A document is too large, or its scope has too many documents or bytes. The message names the limit and the fix. */
export class DocumentLimitError extends Error {
  override readonly name = 'DocumentLimitError';
}

/** A store is unavailable. The message names the store (file, folder or server), the cause, and the fix. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
