import type { DocumentDeletion, DocumentPlace, DocumentStore, ToolCallContext } from '@toolscript/core/protocol';
import { z } from 'zod';
import { awaitStore } from '../cabinet/documents.js';
import { documentChange } from '../cabinet/file-keys.js';

/** The version that a deletion names. */
export const DeletedVersion = z
  .number()
  .int()
  .min(0)
  .optional()
  .describe('the version that must be the newest; default: the newest one at the time of the call');

/**
 * Adds the number of the newest version to the input of a deletion, so that the deletion deletes what its user saw, and
 * no version that is saved later.
 */
export async function pinDeletion<Input extends { readonly ifVersion?: number | undefined }>(
  documents: DocumentStore,
  place: DocumentPlace,
  input: Input,
): Promise<Input> {
  if (input.ifVersion !== undefined) return input;
  // defence: deletions-name-their-version
  return { ...input, ifVersion: (await awaitStore(documents.versions(place)))[0]?.version ?? 0 };
}

/** Deletes a document. A repeated call deletes nothing, and returns the result of the first call. */
export async function deleteOnce(
  documents: DocumentStore,
  deletion: DocumentDeletion,
  call: ToolCallContext,
): Promise<{ deleted: boolean }> {
  return { deleted: await awaitStore(documents.delete({ ...deletion, ...documentChange(call) })) };
}
