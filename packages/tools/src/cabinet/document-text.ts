import { fileAbout, readThreadFile } from '@toolscript/core/internal';
import type { DocumentStore } from '@toolscript/core/protocol';
import type { StoredDocument } from '@toolscript/core/ports';
import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';
import { untrusted, UNTRUSTED_NOTE } from '../web/untrusted.js';
import { awaitStore } from './documents.js';

/**
 * The text of a thread's file for a model. The text of a web page starts with a note for the model, and is enclosed in
 * tags that name its source. Throws a ToolCallError if the thread has no such file.
 */
export async function documentText(
  documents: DocumentStore,
  threadId: string,
  fileKey: string,
  version?: number,
): Promise<string> {
  const file = await findFile(documents, threadId, { fileKey, version });
  const text = markedText(file, file.text);
  return isOfWeb(file) ? `${UNTRUSTED_NOTE}\n${text}` : text;
}

/**
 * Finds a file of the thread. Throws a ToolCallError if the thread has no file with this key, even if another thread
 * has one.
 */
export async function findFile(
  documents: DocumentStore,
  threadId: string,
  { fileKey, version }: { fileKey: string; version?: number | undefined },
): Promise<StoredDocument> {
  const file = await awaitStore(readThreadFile(documents, threadId, fileKey, version));
  if (file !== undefined) return file;
  const which = version === undefined ? '' : ` with version ${version}`;
  throw failure(
    'missing',
    `This conversation has no file "${visible(fileKey.slice(0, 256))}"${which} in its File Cabinet. To list its files, call tools.listFC().`,
  );
}

/** Prepares a part of the file's text for a model: encloses the text of a web page in tags that name its source. */
export function markedText(file: StoredDocument, text: string): string {
  // defence: saved-pages-stay-untrusted
  return isOfWeb(file) ? untrusted(text, fileAbout(file).source?.url ?? file.name) : text;
}

function isOfWeb(file: StoredDocument): boolean {
  return fileAbout(file).source?.kind === 'web';
}
