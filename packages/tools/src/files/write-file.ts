import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { throwIfAborted } from '../failure.js';
import { changeFiles, commitChanges } from './commit.js';
import { permissionPath } from './permission-path.js';
import { targetOf } from './target.js';
import { checkEncodable } from './text.js';
import { displayPath, resolvePath, type Workspace } from './workspace.js';

const WriteFileInput = z.object({
  filePath: z.string().describe('relative to the workspace, or absolute inside it'),
  content: z.string().describe('the whole new content'),
  workdir: z.string().optional().describe('folder that filePath is relative to'),
});

const WriteFileOutput = z.object({
  success: z.literal(true),
  path: z.string(),
  bytes: z.number().int(),
  created: z.boolean().describe('there was no such file before'),
  content: z.string().describe('what was done, in one sentence'),
});

export type WriteFileInput = z.input<typeof WriteFileInput>;
export type WriteFileResult = z.output<typeof WriteFileOutput>;

export function writeFileTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'writeFile',
    description:
      'Writes a whole text file, replacing what was there; makes missing folders. For small changes use applyPatch.',
    input: WriteFileInput,
    output: WriteFileOutput,
    approval: 'policy',
    effect: 'write',
    permissions: (input) => [`write:${permissionPath(workspace, input.filePath, input.workdir)}`],
    preview: (input) =>
      `write ${permissionPath(workspace, input.filePath, input.workdir)} (${Buffer.byteLength(input.content)} bytes)\n\n${input.content}`,
    execute: (input, { signal }) => writeFile(workspace, input, signal),
  });
}

/**
 * Writes a file by renaming a finished temporary file over it: others see the old content or the new one.
 * A link is followed when it leads to a file inside the workspace. Throws a ToolCallError.
 */
export async function writeFile(
  workspace: Workspace,
  input: WriteFileInput,
  signal?: AbortSignal,
): Promise<WriteFileResult> {
  const path = resolvePath(workspace, input.filePath, input.workdir);
  checkEncodable(input.content, 'The content');
  const bytes = Buffer.from(input.content);
  throwIfAborted(signal);
  const findPlaces = async (): Promise<string[]> => [(await targetOf(workspace, path)).realPath];
  return changeFiles(workspace, signal, findPlaces, async () => {
    const target = await targetOf(workspace, path);
    await commitChanges(workspace, [{ target, bytes }], signal);
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
