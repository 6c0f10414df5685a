import { defineTool } from '@toolscript/core';
import { filePlace } from '@toolscript/core/internal';
import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { deletionPreview } from '../documents/deletion-preview.js';
import { awaitStore, requireThread } from './documents.js';

export function deleteFromFCTool(documents: DocumentStore): Tool {
  return defineTool({
    name: 'deleteFromFC',
    description: 'Deletes a file from the File Cabinet, with all its versions.',
    input: z.object({ fileKey: z.string().min(1).max(256) }),
    output: z.object({ deleted: z.boolean() }),
    effect: 'write',
    idempotent: true,
    preview: async ({ fileKey }, scope) => deletionPreview(documents, filePlace(requireThread(scope), fileKey)),
    execute: async ({ fileKey }, context) => ({
      deleted: await awaitStore(documents.delete(filePlace(requireThread(context), fileKey))),
    }),
  });
}
