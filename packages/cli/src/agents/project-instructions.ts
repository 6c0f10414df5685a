import { dirname, join, relative } from 'node:path';
import type { AgentConfig } from '@toolscript/core/agent';
import { isThere } from '../configuration/json-files.js';
import { userFolder } from '../configuration/locations.js';
import { readFileStart } from '../input/file-start.js';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';

/** The file with instructions for agents, and the name that is used if there is none. https://agents.md */
const NAMES = ['AGENTS.md', 'CLAUDE.md'] as const;

/** Maximum size of all files together, in bytes: the models read them with the first request of each conversation. */
const MAX_BYTES = 32 * 1024;

/** The maximum number of folders above the workspace. */
const MAX_FOLDERS = 32;

interface ProjectFile {
  readonly path: string;
  readonly text: string;
}

/** The instructions of a coding agent that has none of its own. */
const CODING_INSTRUCTIONS = `You work in the user's folder. Read what you change before you change it. Keep changes small and in the style of the code around them, and use applyPatch for edits. After a change, run the project's own tests or checks, and name what you could not check. Without a request, do not commit, push, or delete what you did not make. End with a short answer: what you changed, and where.`;

/** True for an agent that works with the default tools, so that it can change files. */
export function isCodingAgent({ tools, pack }: AgentConfig): boolean {
  return tools === undefined && pack === undefined;
}

/**
 * The instructions of an agent: its own, or those of a coding agent, and the texts of AGENTS.md: the user's own, and
 * those of the folders from the root of the Git repository to the workspace. The nearest comes last. They are text for
 * the model, and give it no rights. Returns the paths of the files too.
 */
export async function withProjectInstructions(
  agent: AgentConfig,
  environment: Environment,
  workspace: string,
  warn: (message: string) => void,
): Promise<{ readonly agent: AgentConfig; readonly files: readonly string[] }> {
  const files = await readFiles(environment, workspace, warn);
  const own = agent.instructions ?? (isCodingAgent(agent) ? CODING_INSTRUCTIONS : undefined);
  const texts = files.map(({ path, text }) => `Instructions from ${path}:\n\n${text}`);
  const instructions = [own, ...texts].filter((text) => text !== undefined).join('\n\n');
  const names = files.map(({ path }) => path);
  return { agent: instructions === '' ? agent : { ...agent, instructions }, files: names };
}

async function readFiles(
  environment: Environment,
  workspace: string,
  warn: (message: string) => void,
): Promise<readonly ProjectFile[]> {
  const folders = [userFolder(environment).path, ...(await projectFolders(workspace))];
  const files: ProjectFile[] = [];
  let room = MAX_BYTES;
  // The nearest file is the most important one, so it gets its room first.
  for (const folder of folders.toReversed()) {
    const found = await readFirst(folder, room);
    if (found === undefined) continue;
    const { path, text, bytes } = found;
    if (bytes > room)
      warn(
        `${visibleLine(path)} is cut: the model reads at most ${MAX_BYTES / 1024} KB of all such files together. Shorten it.`,
      );
    room -= Math.min(bytes, room);
    const isOwn = folder === folders[0];
    if (text.trim() !== '') files.unshift({ path: isOwn ? path : relative(workspace, path), text: text.trim() });
  }
  return files;
}

/** The folders from the root of the Git repository to the workspace. Outside of a repository, the workspace alone. */
async function projectFolders(workspace: string): Promise<string[]> {
  const folders = [workspace];
  for (let folder = workspace; folders.length <= MAX_FOLDERS; folders.unshift(folder)) {
    if (await isThere(join(folder, '.git'))) return folders;
    const parent = dirname(folder);
    if (parent === folder) return [workspace];
    folder = parent;
  }
  return [workspace];
}

/** The first of the files in a folder that can be read. */
async function readFirst(folder: string, room: number): Promise<(ProjectFile & { bytes: number }) | undefined> {
  for (const name of NAMES) {
    const path = join(folder, name);
    const start = await readFileStart(path, room).catch(() => undefined);
    if (start !== undefined) return { path, text: start.bytes.toString('utf8'), bytes: start.size };
  }
  return undefined;
}
