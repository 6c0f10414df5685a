import { defineTool } from '@toolscript/core';
import { fileAbout, present } from '@toolscript/core/internal';
import type { DocumentInfo } from '@toolscript/core/ports';
import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { awaitStore, requireThread } from './documents.js';

const PAGE = 100;

const ListFCInput = z.object({
  prefix: z.string().max(256).optional().describe('lists only keys with this prefix; default: all keys'),
  cursor: z.string().max(256).optional(),
});

const ListFCOutput = z.object({
  files: z.array(
    z.object({
      fileKey: z.string(),
      version: z.number().int(),
      bytes: z.number().int(),
      title: z.string().optional(),
      contentType: z.string().optional(),
      source: z.string().optional().describe('the address of a web page'),
      savedAt: z.string(),
      expiresAt: z.string().optional(),
    }),
  ),
  cursor: z.string().optional().describe('for the next page'),
});

export function listFCTool(documents: DocumentStore): Tool {
  return defineTool({
    name: 'listFC',
    description: 'Lists the files in the File Cabinet of this conversation, by key.',
    input: ListFCInput,
    output: ListFCOutput,
    approval: 'never',
    effect: 'read',
    execute: async ({ prefix, cursor }, context) => {
      const scope = { kind: 'thread', id: requireThread(context) } as const;
      const query = { scope, kind: 'file', limit: PAGE, ...present({ prefix, after: cursor }) } as const;
      const { documents: found, next } = await awaitStore(documents.list(query));
      return { files: found.map(listedFile), ...present({ cursor: next }) };
    },
  });
}

function listedFile(info: DocumentInfo) {
  const { title, contentType, source } = fileAbout(info);
  const { name: fileKey, version, bytes, createdAt, expiresAt } = info;
  return {
    fileKey,
    version,
    bytes,
    ...present({ title, contentType, source: source?.url }),
    savedAt: isoTime(createdAt),
    ...(expiresAt === undefined ? {} : { expiresAt: isoTime(expiresAt) }),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
