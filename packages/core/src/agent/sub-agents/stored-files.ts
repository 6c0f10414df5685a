import type { ToolCallScope } from '../../protocol/index.js';
import { refused } from './limits.js';

/** Returns the text of a stored document, as a model may read it. */
export type DocumentText = (fileKey: string, call: ToolCallScope) => Promise<string>;

/** The files that a model reads before its prompt. */
export interface NamedFiles {
  fileKey?: string | undefined;
  fileKeys?: string[] | undefined;
}

/**
 * Maximum characters of all files that one model reads before its prompt. The model's conversation stores these texts.
 */
const MAX_CHARACTERS = 1_000_000;

/** The keys of the files, without duplicates. */
export function fileKeysOf({ fileKey, fileKeys = [] }: NamedFiles): string[] {
  return [...new Set([...(fileKey === undefined ? [] : [fileKey]), ...fileKeys])];
}

/**
 * The texts of the files, each in a block that names its key. Throws a `ToolCallError` if the host stores no files, or
 * if the texts are too long.
 */
export async function readFiles(
  keys: readonly string[],
  documentText: DocumentText | undefined,
  call: ToolCallScope,
): Promise<string[]> {
  if (keys.length === 0) return [];
  if (documentText === undefined)
    throw refused('This host stores no files under keys. Write the content of the files into text or task.');
  const texts = await Promise.all(keys.map(async (key) => blockOf(key, await documentText(key, call))));
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  if (characters <= MAX_CHARACTERS) return texts;
  throw refused(
    `The files have ${characters} characters together; a model may read ${MAX_CHARACTERS}. Name fewer files, or save the parts that the model needs as a smaller file.`,
  );
}

/** A block with the text of a file. The text cannot end its block. */
function blockOf(key: string, text: string): string {
  let tag = 'file';
  // defence: file-blocks-cannot-end-themselves
  while (text.includes(`</${tag}`)) tag += '-x';
  return `<${tag} key=${JSON.stringify(key)}>\n${text}\n</${tag}>`;
}
