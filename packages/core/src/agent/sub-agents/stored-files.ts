import type { ToolCallScope } from '../../protocol/index.js';
import type { CoveredPart } from '../../protocol/covered-part.js';
import { sha256 } from '../../text/crypto.js';
import { agentRefusal } from './limits.js';

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
export function namedFileKeys({ fileKey, fileKeys = [] }: NamedFiles): string[] {
  return [...new Set([...(fileKey === undefined ? [] : [fileKey]), ...fileKeys])];
}

/**
 * The texts of the files, each in a block that names its key. Throws a `ToolCallError` if the host stores no files, or
 * if the texts are too long.
 */
export async function readFiles(
  keys: readonly string[],
  documentText: DocumentText | undefined,
  call: ToolCallScope & { readonly covers?: readonly CoveredPart[] | undefined },
): Promise<string[]> {
  if (keys.length === 0) return [];
  if (documentText === undefined)
    throw agentRefusal('This host stores no files under keys. Write the content of the files into text or task.');
  const read = async (key: string): Promise<string> => {
    const text = await documentText(key, call);
    assertApproved(fileReference(key), text, call.covers);
    return fileBlock(key, text);
  };
  const texts = await Promise.all(keys.map(read));
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  if (characters <= MAX_CHARACTERS) return texts;
  throw agentRefusal(
    `The files have ${characters} characters together; a model may read ${MAX_CHARACTERS}. Name fewer files, or save the parts that the model needs as a smaller file.`,
  );
}

/** The name of a file in an approval. */
function fileReference(key: string): string {
  return `the file ${JSON.stringify(key)}`;
}

/** The texts of the files as a model reads them, by their names in an approval. */
export async function referencedFiles(
  keys: readonly string[],
  documentText: DocumentText | undefined,
  call: ToolCallScope,
): Promise<Record<string, string>> {
  if (documentText === undefined) return {};
  const texts = keys.map(async (key) => [fileReference(key), await documentText(key, call)] as const);
  return Object.fromEntries(await Promise.all(texts));
}

/** Throws a `ToolCallError` if the text is not the one that a user approved. */
export function assertApproved(what: string, text: string, covers: readonly CoveredPart[] | undefined): void {
  const approved = covers?.find((part) => part.what === what);
  // defence: models-read-the-approved-texts
  if (approved !== undefined && approved.sha256 !== sha256(text))
    throw agentRefusal(`${what} was changed after the call was approved. Make the call again.`);
}

/** A block with the text of a file. The text cannot end its block. */
function fileBlock(key: string, text: string): string {
  let tag = 'file';
  // defence: file-blocks-cannot-end-themselves
  while (text.includes(`</${tag}`)) tag += '-x';
  return `<${tag} key=${JSON.stringify(key)}>\n${text}\n</${tag}>`;
}
