import { createHash } from 'node:crypto';
import { present } from '@toolscript/core/internal';
import type { RunFence, ToolCallContext } from '@toolscript/core/protocol';
import { z } from 'zod';

const MAX_KEY = 256;

/** A key that terminals and pages can show, and that can be the name of a download. */
export const FileKey = z
  .string()
  .refine(
    isFileKey,
    `1 to ${MAX_KEY} visible characters, no "\\", and no space at either end; "/" may separate parts, and no part is empty, "." or ".."`,
  );

function isFileKey(key: string): boolean {
  // defence: file-keys-are-visible
  if (key.length > MAX_KEY || key.trim() !== key || /[\p{C}\p{Zl}\p{Zp}\\]/u.test(key)) return false;
  // defence: file-keys-are-no-paths
  return key.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/**
 * Identifies one call, in all processes that repeat the call. The `idempotencyKey` of a script's call is unique. The
 * `idempotencyKey` of a structured call is the model's own id, which is unique only within one run.
 */
export function callKey({ scriptId, runId, idempotencyKey }: ToolCallContext): string {
  return scriptId === undefined ? `${runId ?? ''}:${idempotencyKey}` : idempotencyKey;
}

/** The members by which a store recognises a repeated change, and refuses one of a process that has lost its run. */
export function documentChange(call: ToolCallContext): { idempotencyKey: string; fence?: RunFence | undefined } {
  return { idempotencyKey: callKey(call), ...present({ fence: call.fence }) };
}

/** Eight letters and digits that depend on the text only. */
export function shortHash(text: string): string {
  const number = createHash('sha256').update(text).digest().readBigUInt64BE();
  return number.toString(36).padStart(13, '0').slice(-8);
}
