import { defineTool } from '@toolscript/core';
import { filePlace, type DocumentStore, type Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { stored, threadOf } from './documents.js';

export function deleteFromFCTool(documents: DocumentStore): Tool {
  return defineTool({
    name: 'deleteFromFC',
    description: 'Deletes a file from the File Cabinet, with all its versions.',
    input: z.object({ fileKey: z.string().min(1).max(256) }),
    output: z.object({ deleted: z.boolean() }),
    approval: 'never',
    effect: 'write',
    idempotent: true,
    execute: async ({ fileKey }, context) => ({
      deleted: await stored(documents.delete(filePlace(threadOf(context), fileKey))),
    }),
  });
}
