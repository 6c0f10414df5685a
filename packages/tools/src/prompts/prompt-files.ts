import { constants, type Stats } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { isRecord } from '@toolscript/core/internal';
import { ToolscriptUsageError, type JsonObject } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failureMessage, systemCode } from '../failure.js';
import { NAME } from './prompt-shapes.js';
import { parseTemplate } from './template.js';
import { readVariables } from './variables.js';

/** A prompt from a Markdown file. Scripts cannot change it. */
export interface PromptFile {
  readonly name: string;
  readonly text: string;
  readonly description?: string | undefined;
  readonly variables?: JsonObject | undefined;
  /** The file of the prompt, for messages to users. */
  readonly file: string;
}

export interface PromptFolderOptions {
  /**
   * The real path of a folder in which scripts may write. With this option, files that are links, are reached through
   * links or have several hard links are invalid, because a script could use such a prompt to read a forbidden file.
   * Default: links are followed.
   */
  readonly inside?: string | undefined;
}

const MAX_BYTES = 1_000_000;
const FRONT_MATTER = /^---[ \t]*\r?\n(?<head>(?:[^]*?\r?\n)?)---[ \t]*(?:\r?\n|$)/u;

const FrontMatter = z.strictObject({
  name: NAME.optional(),
  description: z.string().max(1_000).optional(),
  variables: z.record(z.string(), z.unknown()).optional(),
});

/**
 * The prompts in the Markdown files (`*.md`) of a folder, in the order of their names. The list is empty if the folder
 * does not exist. Reports an invalid file to `warn` and skips it. Throws a `ToolscriptUsageError` if the folder cannot
 * be read.
 */
export async function readPromptFolder(
  folder: string,
  warn: (message: string) => void,
  { inside }: PromptFolderOptions = {},
): Promise<PromptFile[]> {
  const prompts = new Map<string, PromptFile>();
  for (const file of await markdownFiles(folder)) {
    try {
      const prompt = await readPromptFile(file, inside);
      const before = prompts.get(prompt.name);
      if (before !== undefined)
        throw new ToolscriptUsageError('PROMPT_NAME_TAKEN', { file, other: before.file, name: prompt.name });
      prompts.set(prompt.name, prompt);
    } catch (error) {
      if (!(error instanceof ToolscriptUsageError)) throw error;
      warn(error.message);
    }
  }
  return [...prompts.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

async function markdownFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder);
    return entries
      .filter((name) => name.endsWith('.md'))
      .toSorted()
      .map((name) => join(folder, name));
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw new ToolscriptUsageError('PROMPT_UNREADABLE', {
      path: folder,
      code: code ?? 'unknown error',
      kind: 'folder',
    });
  }
}

async function readPromptFile(file: string, inside: string | undefined): Promise<PromptFile> {
  const text = inside === undefined ? await promptFileText(file) : await textInside(file, inside);
  const match = FRONT_MATTER.exec(text);
  const { name = basename(file, '.md'), ...head } = await readHead(file, match?.groups?.['head'] ?? '');
  if (!NAME.safeParse(name).success) throw new ToolscriptUsageError('PROMPT_NAME_INVALID', { file });
  const prompt = { name, ...head, text: match === null ? text : text.slice(match[0].length), file };
  try {
    readVariables(parseTemplate(prompt.text), prompt.variables);
  } catch (error) {
    throw new ToolscriptUsageError('PROMPT_INVALID', { file, problem: failureMessage(error) });
  }
  return prompt;
}

async function promptFileText(file: string): Promise<string> {
  return readText(file, constants.O_RDONLY | constants.O_NONBLOCK, () => true);
}

function textInside(file: string, inside: string): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0);
  return readText(file, flags, async (found) => {
    const path = await realpath(file);
    const { dev, ino } = await lstat(path);
    return (
      path === file && file.startsWith(join(inside, sep)) && found.nlink === 1 && found.dev === dev && found.ino === ino
    );
  });
}

/** Reads a prompt file. `isOwn` returns false if the opened file may be a file from another place. */
async function readText(
  file: string,
  flags: number,
  isOwn: (found: Stats) => boolean | Promise<boolean>,
): Promise<string> {
  try {
    const handle = await open(file, flags);
    try {
      const found = await handle.stat();
      if (!found.isFile()) throw new ToolscriptUsageError('PROMPT_NOT_A_FILE', { file });
      // defence: prompt-files-are-no-links
      if (!(await isOwn(found))) throw promptLinkError(file);
      if (found.size > MAX_BYTES)
        throw new ToolscriptUsageError('PROMPT_TOO_LARGE', { file, bytes: found.size, most: MAX_BYTES });
      return (await handle.readFile('utf8')).replace(/^\uFEFF/u, '');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof ToolscriptUsageError) throw error;
    const code = systemCode(error);
    if (code === 'ELOOP' || code === 'EMLINK') throw promptLinkError(file);
    throw new ToolscriptUsageError('PROMPT_UNREADABLE', { path: file, code: code ?? 'unknown error', kind: 'file' });
  }
}

function promptLinkError(file: string): ToolscriptUsageError {
  return new ToolscriptUsageError('PROMPT_IS_LINK', { file });
}

type Head = Pick<PromptFile, 'description' | 'variables'> & { name?: string | undefined };

async function readHead(file: string, text: string): Promise<Head> {
  let value: unknown;
  try {
    // Loaded here, because most programs start without such a file.
    const { parse } = await import('yaml');
    value = parse(text, { maxAliasCount: 10, prettyErrors: false }) ?? {};
  } catch (error) {
    throw new ToolscriptUsageError('PROMPT_NOT_YAML', { file, problem: failureMessage(error) });
  }
  if (!isRecord(value)) throw new ToolscriptUsageError('PROMPT_NOT_A_MAPPING', { file });
  const checked = FrontMatter.safeParse(value);
  if (checked.success) return checked.data as Head;
  const [issue] = checked.error.issues;
  throw new ToolscriptUsageError('PROMPT_MEMBER_INVALID', {
    file,
    member: issue?.path.join('.') ?? '',
    problem: issue?.message ?? '',
  });
}
