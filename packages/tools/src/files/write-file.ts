import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { throwIfAborted } from '../failure.js';
import { changeCause, changeFiles, commitChanges, type ChangeCause } from './commit.js';
import { contentDiff } from './content-diff.js';
import { visible } from './path-rules.js';
import { permissionPath } from './permission-path.js';
import { findWriteTarget } from './target.js';
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
  aliases: { filePath: 'path', workdir: 'cwd' },
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
    execute: (input, context) => writeFile(workspace, input, changeCause(context)),
  });
}

/**
 * The preview for the user who decides about the write: the numbers of added and removed lines, `facts`, then what
 * changes. If the file exists, a diff shows what is lost.
 */
export async function writePreview(
  workspace: Workspace,
  { path, cwd, content }: WriteFileInput,
  facts: readonly string[] = [],
): Promise<string> {
  const shown = permissionPath(workspace, path, cwd);
  const diff = await fileDiff(workspace, { path, cwd, content });
  const title =
    diff === undefined ? `Create ${shown}, +${lineCount(content)}` : `Replace ${shown}, ${lineCounts(diff)}`;
  return [title, ...facts, '', diff ?? content].join('\n');
}

function lineCount(content: string): number {
  return content === '' ? 0 : content.split('\n').length - (content.endsWith('\n') ? 1 : 0);
}

/** The numbers of the added and removed lines of a unified diff, such as `+3 −1`. */
function lineCounts(diff: string): string {
  const [, ...hunks] = diff.split('\n@@');
  const lines = hunks.join('\n').split('\n');
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return `+${count('+')} −${count('-')}`;
}

/** The change of an existing file as a diff; undefined for a new file, and for a path that cannot be written. */
async function fileDiff(workspace: Workspace, { path, cwd, content }: WriteFileInput): Promise<string | undefined> {
  try {
    const target = await findWriteTarget(workspace, resolvePath(workspace, path, cwd));
    if (target.existing === undefined) return undefined;
    const shown = visible(displayPath(workspace, target.realPath));
    return await contentDiff(workspace, { target, bytes: Buffer.from(content) }, shown);
  } catch {
    return undefined;
  }
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
  const findPlaces = async (): Promise<string[]> => [(await findWriteTarget(workspace, path)).realPath];
  return changeFiles(workspace, cause, findPlaces, async () => {
    const target = await findWriteTarget(workspace, path);
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
