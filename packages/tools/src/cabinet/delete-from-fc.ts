import { defineTool } from '@toolscript/core';
import { filePlace } from '@toolscript/core/internal';
import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { DeletedVersion, deleteOnce, pinDeletion } from '../documents/deletions.js';
import { deletionPreview } from '../documents/deletion-preview.js';
import { requireThread } from './documents.js';

export function deleteFromFCTool(documents: DocumentStore): Tool {
  return defineTool({
    name: 'deleteFromFC',
    description: 'Deletes a file from the File Cabinet, with all its versions.',
    input: z.object({ fileKey: z.string().min(1).max(256), ifVersion: DeletedVersion }),
    output: z.object({ deleted: z.boolean() }),
    effect: 'write',
    idempotent: true,
    pin: async (input, scope) => pinDeletion(documents, filePlace(requireThread(scope), input.fileKey), input),
    preview: async ({ fileKey, ifVersion }, scope) =>
      deletionPreview(documents, { ...filePlace(requireThread(scope), fileKey), ifVersion }),
    execute: async ({ fileKey, ifVersion }, context) =>
      deleteOnce(documents, { ...filePlace(requireThread(context), fileKey), ifVersion }, context),
  });
}
