import { isScriptId, ToolscriptUsageError } from '../protocol/index.js';

/** Throws unless the text is a script id: an id is part of a path, and other texts could name other folders. */
export function checkScriptId(scriptId: string): void {
  if (!isScriptId(scriptId))
    throw new ToolscriptUsageError('SCRIPT_ID_INVALID', { scriptId: JSON.stringify(scriptId) });
}

export function checkSha256(sha256: string): void {
  if (!isSha256(sha256)) throw new ToolscriptUsageError('SHA256_INVALID', { sha256: JSON.stringify(sha256) });
}

export function isSha256(name: string): boolean {
  return /^[0-9a-f]{64}$/u.test(name);
}
