import type { ToolCallContext } from '@toolscript/core/protocol';
import { failure } from '../failure.js';

/** Maximum time until a document expires, in hours. */
export const MAX_HOURS = 8_760;

const REASONS = {
  DocumentConflictError: 'changed',
  DocumentLimitError: 'too_large',
} as const;

/**
 * Waits for a call to the store. Converts the store's errors to errors for the model, which name no file of the host.
 */
export async function awaitStore<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    throw describeStoreError(error);
  }
}

function describeStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === 'NotFoundError')
    return failure(
      'unavailable',
      'This conversation is not stored, so nothing can be saved in it. Return the text instead.',
    );
  if (error.name === 'StoreUnavailableError')
    return failure('unavailable', 'The store of documents failed. Try again later.');
  if (error.name === 'StaleEpochError')
    return failure(
      'unavailable',
      'This call belongs to an earlier attempt of its run, so it changed nothing. Make it again.',
    );
  const reason = REASONS[error.name as keyof typeof REASONS];
  return reason === undefined ? error : failure(reason, `${error.message}.`);
}

/** The member of `about` that keeps the label of a stored text: whether untrusted text may have reached it. */
export function savedLabel(context: Pick<ToolCallContext, 'hasUntrustedInput'>): { untrusted?: true } {
  return context.hasUntrustedInput?.() === true ? { untrusted: true } : {};
}

/** Gives the result of a call the label of the stored text. */
export function restoreLabel(
  found: { readonly about: Readonly<Record<string, unknown>> } | undefined,
  context: Pick<ToolCallContext, 'markUntrusted'>,
): void {
  // defence: stored-texts-keep-their-label
  if (found?.about['untrusted'] === true) context.markUntrusted?.();
}

/** The thread of a call. Throws a ToolCallError for a call outside a conversation. */
export function requireThread({ threadId }: Pick<ToolCallContext, 'threadId'>): string {
  if (threadId !== undefined) return threadId;
  throw failure(
    'unavailable',
    'This call belongs to no conversation, so it has no File Cabinet. Make the call in a conversation.',
  );
}

export function documentExpiry(hours: number | undefined): { expiresAt?: number | undefined } {
  return hours === undefined ? {} : { expiresAt: Math.round(Date.now() + hours * 3_600_000) };
}
