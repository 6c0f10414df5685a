import {
  DocumentConflictError,
  DocumentLimitError,
  type DocumentDraft,
  type DocumentInfo,
  type DocumentPage,
  type DocumentQuery,
  type DocumentStore,
} from '@toolscript/core/protocol';
import { failure } from '../failure.js';

/** Saves a document. A conflict and a limit become failures of the call, with the store's own sentence. */
export async function saveDocument(documents: DocumentStore, draft: DocumentDraft): Promise<DocumentInfo> {
  try {
    return await documents.save(draft);
  } catch (error) {
    if (error instanceof DocumentConflictError) throw failure('conflict', `${error.message}.`);
    if (error instanceof DocumentLimitError) throw failure('too_many', `${error.message}.`);
    throw error;
  }
}

/** All documents of a scope: at most as many as its limit allows. */
export async function listDocuments(documents: DocumentStore, query: DocumentQuery): Promise<DocumentInfo[]> {
  const found: DocumentInfo[] = [];
  let after: string | undefined;
  do {
    const page: DocumentPage = await documents.list({ ...query, ...(after === undefined ? {} : { after }) });
    found.push(...page.documents);
    after = page.next;
  } while (after !== undefined);
  return found;
}
