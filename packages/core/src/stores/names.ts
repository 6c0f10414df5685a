import { isScriptId, ToolscriptUsageError } from '../protocol/index.js';

/** Throws unless the text is a script id: an id is part of a path, and other texts could name other folders. */
export function checkScriptId(scriptId: string): void {
  if (!isScriptId(scriptId))
    throw new ToolscriptUsageError(
      `${JSON.stringify(scriptId)} is not a script id. Use 1 to 128 letters, digits, "_" and "-"`,
    );
}

export function checkSha256(sha256: string): void {
  if (!isSha256(sha256))
    throw new ToolscriptUsageError(`${JSON.stringify(sha256)} is not a SHA-256. Use 64 hexadecimal digits`);
}

export function isSha256(name: string): boolean {
  return /^[0-9a-f]{64}$/u.test(name);
}
