import { defineTool } from '@toolscript/core';
import { fileAbout, present } from '@toolscript/core/internal';
import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { findFile, markedText } from './document-text.js';
import { requireThread, restoreLabel } from './documents.js';

const DEFAULT_LENGTH = 50_000;
const MAX_LENGTH = 1_000_000;

const FetchFromFCInput = z.object({
  fileKey: z.string().min(1).max(256),
  version: z.number().int().min(1).optional(),
  offset: z.number().int().min(0).default(0).describe('in characters'),
  maxLength: z.number().int().min(1).max(MAX_LENGTH).default(DEFAULT_LENGTH).describe('characters'),
});

const FetchFromFCOutput = z.object({
  fileKey: z.string(),
  version: z.number().int(),
  text: z.string().describe('text of a web page is marked as untrusted'),
  length: z.number().int().describe('characters of the whole text'),
  bytes: z.number().int(),
  nextOffset: z.number().int().optional().describe('where the rest starts'),
  title: z.string().optional(),
  contentType: z.string().optional(),
  source: z.string().optional().describe('the address of a web page'),
});

export function fetchFromFCTool(documents: DocumentStore): Tool {
  return defineTool({
    name: 'fetchFromFC',
    description: 'Returns the text of a file in the File Cabinet, or a part of it.',
    input: FetchFromFCInput,
    output: FetchFromFCOutput,
    approval: 'never',
    effect: 'read',
    execute: async ({ fileKey, version, offset, maxLength }, context) => {
      const file = await findFile(documents, requireThread(context), { fileKey, version });
      restoreLabel(file, context);
      const { title, contentType, source } = fileAbout(file);
      const end = partEnd(file.text, offset + maxLength);
      return {
        fileKey,
        version: file.version,
        text: markedText(file, file.text.slice(offset, end)),
        length: file.text.length,
        bytes: file.bytes,
        ...(end < file.text.length ? { nextOffset: end } : {}),
        ...present({ title, contentType, source: source?.url }),
      };
    },
  });
}

/** The end of a part, moved by one UTF-16 unit if the part would otherwise split a surrogate pair. */
function partEnd(text: string, end: number): number {
  const divides = (text.codePointAt(end - 1) ?? 0) > 0xffff;
  return Math.min(divides ? end + 1 : end, text.length);
}
