import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { throwIfAborted } from '../failure.js';
import { causeOf, changeFiles, commitChanges, type ChangeCause } from './commit.js';
import { permissionPath } from './permission-path.js';
import { targetOf } from './target.js';
import { checkEncodable } from './text.js';
import { displayPath, resolvePath, type Workspace } from './workspace.js';
import { SUCCESS } from '../success.js';

const WriteFileInput = z.object({
  path: z.string(),
  content: z.string(),
  cwd: z.string().optional(),
});

const WriteFileOutput = z.object({
  success: SUCCESS,
  path: z.string(),
  bytes: z.number().int(),
  created: z.boolean(),
  content: z.string().describe('a summary').meta({ deprecated: true }),
});

export type WriteFileInput = z.input<typeof WriteFileInput>;
export type WriteFileResult = z.output<typeof WriteFileOutput>;

/** The parts of the tool's definition that do not depend on the source of the content. */
export const WRITE_FILE = {
  name: 'writeFile',
  description: 'Writes a whole text file and makes missing folders. For small changes a patch is shorter.',
  oldNames: { filePath: 'path', workdir: 'cwd' },
  output: WriteFileOutput,
  approval: 'policy',
  effect: 'write',
} as const;

export function writeFileTool(workspace: Workspace): Tool {
  return defineTool({
    ...WRITE_FILE,
    input: WriteFileInput,
    permissions: (input) => [`write:${permissionPath(workspace, input.path, input.cwd)}`],
    preview: (input) => writePreview(workspace, input),
    execute: (input, context) => writeFile(workspace, input, causeOf(context)),
  });
}

/** The preview for the user who decides about the write. */
export function writePreview(workspace: Workspace, { path, cwd, content }: WriteFileInput): string {
  return `write ${permissionPath(workspace, path, cwd)} (${Buffer.byteLength(content)} bytes)\n\n${content}`;
}

/**
 * Writes a file by renaming a finished temporary file over it: readers see the old content or the new content. Follows
 * a link that leads to a file inside the workspace. Throws a ToolCallError.
 */
export async function writeFile(
  workspace: Workspace,
  input: WriteFileInput,
  cause: ChangeCause = {},
): Promise<WriteFileResult> {
  const path = resolvePath(workspace, input.path, input.cwd);
  checkEncodable(input.content, 'The content');
  const bytes = Buffer.from(input.content);
  throwIfAborted(cause.signal);
  const findPlaces = async (): Promise<string[]> => [(await targetOf(workspace, path)).realPath];
  return changeFiles(workspace, cause.signal, findPlaces, async () => {
    const target = await targetOf(workspace, path);
    await commitChanges(workspace, [{ target, bytes }], cause);
    const shown = displayPath(workspace, target.realPath);
    const created = target.existing === undefined;
    return {
      success: true,
      path: shown,
      bytes: bytes.length,
      created,
      content: `${created ? 'Created' : 'Replaced'} ${shown} (${bytes.length} bytes).`,
    };
  });
}
