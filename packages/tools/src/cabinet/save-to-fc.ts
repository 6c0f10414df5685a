import { defineTool } from '@toolscript/core';
import { estimateTokens } from '@toolscript/core/history';
import { filePlace, present } from '@toolscript/core/internal';
import type { DocumentStore, FileAbout, Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { documentExpiry, MAX_HOURS, awaitStore, requireThread, savedLabel } from './documents.js';
import { callKey, documentChange, FileKey, shortHash } from './file-keys.js';

const SaveToFCInput = z.object({
  text: z.string(),
  name: FileKey.optional().describe('the fileKey, such as "notes/plan.md"; an existing one gets a new version'),
  title: z.string().max(200).optional(),
  contentType: z.string().max(100).optional(),
  expiresInHours: z.number().gt(0).max(MAX_HOURS).optional(),
  ifVersion: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('the version that must be the newest; 0: no version may exist'),
});

const SaveToFCOutput = z.object({
  fileKey: z.string(),
  version: z.number().int(),
  bytes: z.number().int(),
  tokens: z.number().int().describe('the tokens that a model needs to read the text'),
});

export function saveToFCTool(documents: DocumentStore): Tool {
  return defineTool({
    name: 'saveToFC',
    description:
      'Saves a text in the File Cabinet of this conversation. Later scripts and writeFile get the text by its fileKey, which costs no tokens.',
    input: SaveToFCInput,
    output: SaveToFCOutput,
    approval: 'never',
    effect: 'write',
    idempotent: true,
    execute: async ({ text, name, title, contentType, expiresInHours, ifVersion }, context) => {
      const fileKey = name ?? `f-${shortHash(callKey(context))}`;
      const about: FileAbout = {
        ...present({ title, contentType }),
        source: { kind: 'script' },
        ...savedLabel(context),
      };
      const { version, bytes } = await awaitStore(
        documents.save({
          ...filePlace(requireThread(context), fileKey),
          text,
          about,
          ...documentExpiry(expiresInHours),
          ...present({ ifVersion }),
          ...documentChange(context),
        }),
      );
      return { fileKey, version, bytes, tokens: estimateTokens(text) };
    },
  });
}
