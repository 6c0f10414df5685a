import { join } from 'node:path';
import type { PromptFile } from '@toolscript/tools';
import { shellWord } from '../terminal/own-command.js';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { WORKSPACE_PROMPTS, userFolder } from './locations.js';
import { isUsageError } from '../usage-error.js';
import { demandOutside } from './workspace-folder.js';
import { isThere } from './json-files.js';
import { isTrusted } from './trust.js';

/**
 * The user's own prompts, and those of a trusted workspace. A workspace cannot take the name of a user's prompt. Throws
 * a `ToolscriptUsageError` if a folder cannot be read.
 */
export async function findPrompts(
  environment: Environment,
  workspace: string,
  warn: (message: string) => void,
): Promise<PromptFile[]> {
  const { readPromptFolder } = await import('@toolscript/tools');
  const user = userFolder(environment);
  const report = (message: string) => warn(visibleLine(message));
  const own = (await readPromptFolder(user.promptsFolder, report)).filter(({ file }) =>
    isOutside(file, workspace, warn),
  );
  const folder = join(workspace, WORKSPACE_PROMPTS);
  if (!(await isThere(folder))) return own;
  // defence: workspace-prompts-need-trust
  if (!(await isTrusted(user, workspace))) {
    warn(
      `${visibleLine(folder)} is ignored, because you have not trusted the workspace. To trust it: toolscript trust ${shellWord(workspace)}`,
    );
    return own;
  }
  const names = new Set(own.map(({ name }) => name));
  const others = (await readPromptFolder(folder, report, { inside: workspace })).filter(({ name, file }) => {
    if (!names.has(name)) return true;
    warn(`${visibleLine(file)} is ignored: you have a prompt "${name}" of your own. Rename one of the two prompts.`);
    return false;
  });
  return [...own, ...others];
}

/**
 * Returns false, with a warning, for a file in the workspace: scripts may write there, so the file is not the user's
 * own.
 */
function isOutside(file: string, workspace: string, warn: (message: string) => void): boolean {
  try {
    // defence: own-prompts-outside-workspace
    demandOutside(file, workspace);
    return true;
  } catch (error) {
    if (!isUsageError(error)) throw error;
    warn(error.message);
    return false;
  }
}
