import { ToolscriptUsageError } from './errors.js';
import { StaleEpochError } from './store.js';

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

/** Creates the errors that several stores report, so that every store uses the same messages. */
export const storeErrors = Object.freeze({
  notFound: (kind: string, id: string) =>
    new NotFoundError(
      `There is no ${kind} ${JSON.stringify(id.slice(0, 200))}. Check the id: the ${kind} may have been deleted`,
    ),
  idExists: (kind: string, id: string) =>
    new ToolscriptUsageError(`The ${kind} id ${JSON.stringify(id)} already exists. Use a new one`),
  otherRequest: () => new IdempotencyConflictError('The idempotency key belongs to a different request. Use a new key'),
  threadBusy: (threadId: string) =>
    new ThreadBusyError(`Another run of the thread ${threadId} is queued or running. Wait until that run ends`),
  turnNotEnded: (turnId: string) =>
    new ThreadBusyError(
      `The turn ${turnId} has not ended. Decide its approvals or stop it, then create the branch again`,
    ),
  runNotHeld: (runId: string, epoch: number) =>
    new StaleEpochError(`Epoch ${epoch} has no claim on the run ${runId}. Claim the run first`),
  otherVersion: (name: string, expected: number, newest: number) =>
    new DocumentConflictError(
      `${JSON.stringify(name)} is at version ${newest}, not ${expected} (version 0: no document). Read the document again, then save it`,
    ),
  tooLarge: (bytes: number, most: number) =>
    new DocumentLimitError(
      `The text has ${bytes} bytes; a document has at most ${most}. Save the text as several documents`,
    ),
  tooManyBytes: (kind: string, most: number) =>
    new DocumentLimitError(
      `All ${kind}s of one scope together have at most ${most} bytes. Delete some, then save again`,
    ),
  tooManyDocuments: (kind: string, most: number) =>
    new DocumentLimitError(`One scope has at most ${most} ${kind}s. Delete some, then save again`),
  olderEpoch: (runId: string, epoch: number, known: number) =>
    new StaleEpochError(`Epoch ${epoch} of the run ${runId} is older than ${known}. Claim the run again`),
});
