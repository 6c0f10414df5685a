import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { ConnectError } from './connect-error.js';
import { thrownMessage } from './readable.js';

/** The beginning of a sentence for each way in which a call that runs as a task ends without a result. */
const ENDINGS = {
  failed: 'The task of the call failed',
  cancelled: 'The server cancelled the task of the call',
  lost: 'The server runs the call as a task, and how the task ends is unknown',
  unanswered: 'The task of the call needs an answer that nobody can give, and is cancelled',
} as const;

/** The end of a task without a result. The call has begun, so it may have taken effect. */
export class TaskError extends Error {
  readonly reason: keyof typeof ENDINGS;
  readonly data: unknown;

  constructor(reason: keyof typeof ENDINGS, cause: unknown, data?: unknown) {
    super(`${ENDINGS[reason]}: ${thrownMessage(cause)}`);
    this.reason = reason;
    this.data = data;
  }
}

const DEFINITE: ReadonlySet<unknown> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
  SdkErrorCode.CapabilityNotSupported,
]);

/** Whether a request has no answer because of the connection, so that another attempt may get one. */
export function isLostConnection(error: unknown): boolean {
  if (error instanceof ProtocolError) return false;
  if (error instanceof ConnectError) return !error.needsUser;
  if (error instanceof SdkHttpError) return error.status === undefined || error.status === 404 || error.status >= 429;
  return !(error instanceof SdkError && DEFINITE.has(error.code));
}
