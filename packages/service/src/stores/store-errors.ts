import { ToolscriptUsageError } from '@toolscript/core/protocol';
import {
  DocumentConflictError,
  DocumentLimitError,
  EventOrderError,
  IdempotencyConflictError,
  NotFoundError,
  StaleEpochError,
  StorageLimitError,
  ThreadBusyError,
} from '@toolscript/core/ports';

/** Creates the errors that several stores report, so that every store uses the same messages. */
export const storeErrors = Object.freeze({
  notFound: (kind: string, id: string) =>
    new NotFoundError(
      `There is no ${kind} ${JSON.stringify(id.slice(0, 200))}. Check the id: the ${kind} may have been deleted`,
    ),
  idExists: (kind: string, id: string) => new ToolscriptUsageError('ID_TAKEN', { kind, id: JSON.stringify(id) }),
  eventOfCopy: (runId: string) =>
    new EventOrderError(`The run ${runId} is a copy in a branch: it takes no events. Start another run`),
  otherRequest: () => new IdempotencyConflictError('The idempotency key belongs to a different request. Use a new key'),
  threadBusy: (threadId: string) =>
    new ThreadBusyError(`Another run of the thread ${threadId} is queued or running. Wait until that run ends`),
  threadTooLarge: (bytes: number, most: number) =>
    new StorageLimitError(
      `The thread would have ${bytes} bytes; a thread has at most ${most} (limits.bytesPerThread of the server). Start a new thread`,
    ),
  principalTooLarge: (bytes: number, most: number) =>
    new StorageLimitError(
      `All your threads and files together would have ${bytes} bytes, at most ${most} are allowed (limits.bytesPerPrincipal of the server). Delete threads or files that you do not need`,
    ),
  turnNotEnded: (turnId: string) =>
    new ThreadBusyError(
      `The turn ${turnId} has not ended. Decide its approvals or stop it, then create the branch again`,
    ),
  runNotOpened: (runId: string) =>
    new EventOrderError(`The log does not know the run ${runId}. Open the run under its epoch, then publish again`),
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
