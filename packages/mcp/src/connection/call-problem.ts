import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { ToolCallError } from '@toolscript/core';
import { ConnectError } from './connect-error.js';
import { thrownMessage, plainLines } from './readable.js';
import { TaskError } from './task-problem.js';

/** Whether the server no longer knows the session. The server then answers 404 over Streamable HTTP. */
export function isLostSession(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}

/** The error that a script receives for a call without a result. */
export function callProblem(server: string, error: unknown, timeoutMs: number): Error {
  if (error instanceof ConnectError) return callFailure(error.message, 'not-connected');
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  const said = plainLines(`${thrownMessage(error)}${cause}`, 2_000);
  if (error instanceof TaskError)
    return callFailure(
      `The MCP server "${server}": ${said.replace(/[.]$/u, '')}. It may have taken effect: check before you repeat the call.`,
      error.reason,
      error.data,
    );
  const code = error instanceof SdkError ? error.code : undefined;
  if (code === SdkErrorCode.ConnectionClosed)
    return callFailure(
      `The MCP server "${server}" ended during the call. Whether the call took effect is unknown: check before you repeat it.`,
      'closed',
    );
  if (code === SdkErrorCode.RequestTimeout)
    return callFailure(
      `The MCP server "${server}" did not answer within ${timeoutMs} ms. Whether the call took effect is unknown: check before you repeat it.`,
      'timeout',
    );
  if (error instanceof ProtocolError)
    return callFailure(`The MCP server "${server}" refused the call: ${said}`, 'refused', error.data);
  if (code === SdkErrorCode.InvalidResult)
    return callFailure(
      `The MCP server "${server}" answered with a result that the protocol does not allow. Report this to the author of the server.`,
      'invalid',
    );
  return callFailure(
    `The call to the MCP server "${server}" failed, and may have taken effect. Check whether it did before you repeat the call. The error is: ${said}`,
    'failed',
  );
}

function callFailure(message: string, reason: string, data?: unknown): ToolCallError {
  return new ToolCallError('ToolExecutionError', message, { reason, data });
}
