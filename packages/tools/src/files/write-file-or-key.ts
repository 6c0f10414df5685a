import { defineTool } from '@toolscript/core';
import { fileAbout, present, type DocumentStore, type StoredDocument, type Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { findFile } from '../cabinet/document-text.js';
import { threadOf } from '../cabinet/documents.js';
import { causeOf } from './commit.js';
import { visible } from './path-rules.js';
import { permissionPath } from './permission-path.js';
import type { Workspace } from './workspace.js';
import { WRITE_FILE, writeFile, writePreview } from './write-file.js';

/** Maximum number of characters of a file's text in a preview. */
const SHOWN = 3_000;

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
  const fileOf = (fileKey: string, { version }: WriteFileOrKeyInput, scope: { threadId: string | undefined }) =>
    findFile(documents, threadOf(scope), { fileKey, version });
  return defineTool({
    ...WRITE_FILE,
    input: WriteFileOrKeyInput,
    permissions: (input) => [`write:${permissionPath(workspace, input.path, input.cwd)}`],
    pin: async (input, scope) => {
      if (input.fileKey === undefined) return input;
      return { ...input, version: (await fileOf(input.fileKey, input, scope)).version };
    },
    preview: async (input, scope) => {
      if (input.fileKey === undefined) return writePreview(workspace, { ...input, content: input.content ?? '' });
      return previewOf(workspace, input, await fileOf(input.fileKey, input, scope));
    },
    execute: async (input, context) => {
      const { path, fileKey, cwd } = input;
      const content = fileKey === undefined ? input.content! : (await fileOf(fileKey, input, context)).text;
      return writeFile(workspace, { path, content, ...present({ cwd }) }, causeOf(context));
    },
  });
}

function previewOf(workspace: Workspace, { path, cwd }: WriteFileOrKeyInput, file: StoredDocument): string {
  const { source } = fileAbout(file);
  const from = source?.kind === 'web' ? `\nIts text comes from the web page ${visible(source.url ?? '')}` : '';
  const rest = file.text.length - SHOWN;
  return [
    `write ${permissionPath(workspace, path, cwd)} (${file.bytes} bytes)`,
    `with the file "${visible(file.name)}", version ${file.version}, of the File Cabinet${from}`,
    '',
    file.text.slice(0, SHOWN) + (rest > 0 ? `\n[… ${rest} more characters]` : ''),
  ].join('\n');
}
