import { fileAbout, readFileOf, type DocumentStore, type StoredDocument } from '@toolscript/core/protocol';
import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';
import { untrusted } from '../web/untrusted.js';
import { stored } from './documents.js';

/**
 * The text of a thread's file for a model; that of a web page is between marks that name its source. Throws a
 * ToolCallError if the thread has no such file.
 */
export async function documentText(
  documents: DocumentStore,
  threadId: string,
  fileKey: string,
  version?: number,
): Promise<string> {
  const file = await findFile(documents, threadId, { fileKey, version });
  return markedText(file, file.text);
}

/** Throws a ToolCallError if the thread has no such file. A key of another thread is not found either. */
export async function findFile(
  documents: DocumentStore,
  threadId: string,
  { fileKey, version }: { fileKey: string; version?: number | undefined },
): Promise<StoredDocument> {
  const file = await stored(readFileOf(documents, threadId, fileKey, version));
  if (file !== undefined) return file;
  const which = version === undefined ? '' : ` with version ${version}`;
  throw failure(
    'missing',
    `This conversation has no file "${visible(fileKey.slice(0, 256))}"${which} in its File Cabinet. To see what it has: tools.listFC()`,
  );
}

/** A part of the file's text, marked for a model. */
export function markedText(file: StoredDocument, text: string): string {
  const { source } = fileAbout(file);
  // defence: saved-pages-stay-untrusted, without it: return source === undefined ? text : text;
  return source?.kind === 'web' ? untrusted(text, source.url ?? file.name) : text;
}
