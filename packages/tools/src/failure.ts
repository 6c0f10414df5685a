import { ToolCallError } from '@toolscript/core/protocol';

/** The reason why a call failed, in `error.data.reason` for scripts that branch on it. */
export type FailureReason =
  | 'aborted'
  | 'bad_path'
  | 'bad_pattern'
  | 'bad_prompt'
  | 'bad_result'
  | 'bad_schema'
  | 'bad_script'
  | 'bad_url'
  | 'bad_value'
  | 'bad_variables'
  | 'binary'
  | 'blocked_address'
  | 'busy'
  | 'changed'
  | 'exists'
  | 'hard_link'
  | 'http_status'
  | 'io'
  | 'link_outside'
  | 'missing'
  | 'missing_key'
  | 'network'
  | 'no_match'
  | 'not_a_file'
  | 'not_a_folder'
  | 'not_an_image'
  | 'not_linked'
  | 'not_permitted'
  | 'not_started'
  | 'not_text'
  | 'out_of_range'
  | 'outside'
  | 'patch_syntax'
  | 'plan'
  | 'protected'
  | 'read_only'
  | 'timed_out'
  | 'too_large'
  | 'too_many_redirects'
  | 'unavailable'
  | 'unreadable';

/**
 * Creates an error with a message for the model and data for the script. Neither may reveal a path outside the
 * workspace.
 */
export function failure(reason: FailureReason, message: string, data: Record<string, unknown> = {}): ToolCallError {
  return new ToolCallError('ToolExecutionError', message, { reason, ...data });
}

/** The reason of an error from `failure`; undefined for any other error. */
export function failureReason(error: unknown): FailureReason | undefined {
  if (!(error instanceof ToolCallError)) return undefined;
  return (error.data as { reason?: FailureReason | undefined } | undefined)?.reason;
}

/** Whether a change of files failed and could not be reverted completely. */
export function isIncomplete(error: unknown): boolean {
  return (
    error instanceof ToolCallError &&
    (error.data as { incomplete?: boolean | undefined } | undefined)?.incomplete === true
  );
}

export function failureMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a system error, such as `EACCES`; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw failure('aborted', 'The call was aborted before it ended.');
}
