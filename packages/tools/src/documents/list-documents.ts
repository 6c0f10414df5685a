import type { DocumentInfo, DocumentPage, DocumentQuery } from '@toolscript/core/ports';
import type { DocumentStore } from '@toolscript/core/protocol';
import { awaitStore } from '../cabinet/documents.js';

/** All documents that match a query. The limits of the store bound their number. */
export async function listDocuments(documents: DocumentStore, query: DocumentQuery): Promise<DocumentInfo[]> {
  const found: DocumentInfo[] = [];
  let after: string | undefined;
  do {
    const page: DocumentPage = await awaitStore(
      documents.list({ ...query, ...(after === undefined ? {} : { after }) }),
    );
    found.push(...page.documents);
    after = page.next;
  } while (after !== undefined);
  return found;
}
