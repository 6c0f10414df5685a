import { visible } from './terminal/untrusted.js';

/** The usage, the input or the configuration is wrong. The message states the problem and the fix. Exit status: 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Whether an error is a UsageError or the library's ToolscriptUsageError. The error's name decides, so that the library
 * need not be loaded.
 */
export function isUsageError(error: unknown): error is Error {
  return error instanceof Error && (error.name === 'UsageError' || error.name === 'ToolscriptUsageError');
}

/** The notice of an internal error that a run has survived. */
export function internalNotice(detail: string): string {
  return `Toolscript continues after an internal error. Please report the error with this text: ${visible(detail)}`;
}

/** The error codes of the file system, for example for a missing or inaccessible file, or for a full disk. */
const FILE_CODES =
  'EACCES EDQUOT EEXIST EFBIG EIO EISDIR ELOOP EMFILE ENAMETOOLONG ENFILE ENOENT ENOSPC ENOTDIR EPERM EROFS'.split(' ');

/** The system's error code in an error message; undefined if the message is not a system error of a file. */
export function fileCodeIn(text: string): string | undefined {
  const [, code] = /(?:^|: )(E[A-Z]+): /u.exec(text) ?? [];
  return code !== undefined && FILE_CODES.includes(code) ? code : undefined;
}

/** The code of a system error, such as `ENOENT`; undefined for every other error. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** The message about a failure to write to stdout, for any cause except a closed reader. */
export function stdoutFailure({ code, message }: NodeJS.ErrnoException): string {
  return `toolscript: stdout cannot be written (${code ?? message}). Free disk space, or redirect stdout to a file that you can write to.\n`;
}
