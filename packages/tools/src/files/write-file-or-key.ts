import { defineTool } from '@toolscript/core';
import { fileAbout, present } from '@toolscript/core/internal';
import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import type { StoredDocument } from '@toolscript/core/ports';
import { z } from 'zod';
import { findFile } from '../cabinet/document-text.js';
import { requireThread } from '../cabinet/documents.js';
import { changeCause } from './commit.js';
import { visible } from './path-rules.js';
import { permissionPath } from './permission-path.js';
import type { Workspace } from './workspace.js';
import { WRITE_FILE, writeFile, writePreview } from './write-file.js';

const WriteFileOrKeyInput = z
  .object({
    path: z.string(),
    content: z.string().optional().describe('either content or fileKey'),
    fileKey: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('the key of a text in the File Cabinet; saves the tokens of content'),
    version: z.number().int().min(1).optional().describe('the version of the text; default: the newest'),
    cwd: z.string().optional(),
  })
  .refine(
    ({ content, fileKey }) => (content === undefined) !== (fileKey === undefined),
    'exactly one of "content" and "fileKey" must be given',
  )
  .refine(({ fileKey, version }) => version === undefined || fileKey !== undefined, '"version" needs a "fileKey"');

type WriteFileOrKeyInput = z.output<typeof WriteFileOrKeyInput>;

/**
 * `writeFile`, whose content may also be a text in the File Cabinet. The tool writes the version that the user
 * approved.
 */
export function writeFileOrKeyTool(workspace: Workspace, documents: DocumentStore): Tool {
  const inputFile = (fileKey: string, { version }: WriteFileOrKeyInput, scope: { threadId: string | undefined }) =>
    findFile(documents, requireThread(scope), { fileKey, version });
  return defineTool({
    ...WRITE_FILE,
    input: WriteFileOrKeyInput,
    permissions: (input) => [`write:${permissionPath(workspace, input.path, input.cwd)}`],
    pin: async (input, scope) => {
      if (input.fileKey === undefined) return input;
      return { ...input, version: (await inputFile(input.fileKey, input, scope)).version };
    },
    references: async (input, scope) => {
      if (input.fileKey === undefined) return {};
      const { name, version, text } = await inputFile(input.fileKey, input, scope);
      return { [`the file ${JSON.stringify(name)}, version ${version}`]: text };
    },
    preview: async (input, scope) => {
      if (input.fileKey === undefined) return writePreview(workspace, { ...input, content: input.content ?? '' });
      const file = await inputFile(input.fileKey, input, scope);
      return writePreview(
        workspace,
        { ...present({ cwd: input.cwd }), path: input.path, content: file.text },
        originLines(file),
      );
    },
    execute: async (input, context) => {
      const { path, fileKey, cwd } = input;
      const content = fileKey === undefined ? input.content! : (await inputFile(fileKey, input, context)).text;
      return writeFile(workspace, { path, content, ...present({ cwd }) }, changeCause(context));
    },
  });
}

/** The lines of a preview that name the origin of the content. */
function originLines(file: StoredDocument): string[] {
  const { source } = fileAbout(file);
  const name = `with the file "${visible(file.name)}", version ${file.version}, of the File Cabinet`;
  return source?.kind === 'web' ? [name, `Its text comes from the web page ${visible(source.url ?? '')}`] : [name];
}
