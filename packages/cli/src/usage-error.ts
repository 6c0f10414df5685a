/** Wrong usage, input or configuration. The message is one sentence that says what to do; the status is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Whether the library says that it was used wrongly; known by name, so that nothing has to be loaded for it. */
export function isUsageError(error: unknown): error is Error {
  return error instanceof Error && (error.name === 'UsageError' || error.name === 'ToolscriptUsageError');
}

/** `ENOENT` and its kin; undefined where the system did not make the error. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
