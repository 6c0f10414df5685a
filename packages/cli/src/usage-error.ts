/** Wrong usage, input or configuration. The message is one sentence that says what to do; the status is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Whether the library says that it was used wrongly; known by name, so that nothing has to be loaded for it. */
export function isUsageError(error: unknown): error is Error {
  return error instanceof Error && (error.name === 'UsageError' || error.name === 'ToolscriptUsageError');
}

/** What the system says where a file or folder is missing, forbidden, in the way, or has no room. */
const FILE_CODES =
  'EACCES EDQUOT EEXIST EFBIG EIO EISDIR ELOOP EMFILE ENAMETOOLONG ENFILE ENOENT ENOSPC ENOTDIR EPERM EROFS'.split(' ');

/** The system's code in a text that begins like its messages; undefined where it is about no file. */
export function fileCodeIn(text: string): string | undefined {
  const [, code] = /(?:^|: )(E[A-Z]+): /u.exec(text) ?? [];
  return code !== undefined && FILE_CODES.includes(code) ? code : undefined;
}

/** `ENOENT` and its kin; undefined where the system did not make the error. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** What the system refuses is said in one sentence that names its code. */
export function orRefuse<Value>(action: () => Value, sentence: (code: string) => string): Value {
  try {
    return action();
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new UsageError(sentence(code));
  }
}
