import {
  DOCUMENT_LIMITS,
  DocumentQuerySchema,
  type DocumentInfo,
  type DocumentLimits,
  type DocumentPage,
  type DocumentQuery,
  type StoredDocument,
  DEFAULT_PAGE,
} from '@toolscript/core/ports';
import {
  DocumentDeletionSchema,
  DocumentDraftSchema,
  DocumentPlaceSchema,
  type DocumentDeletion,
  type DocumentDraft,
  type DocumentPlace,
  type DocumentScope,
  type DocumentStore,
} from '@toolscript/core/protocol';
import type { TableCalls } from './calls.js';
import { isStoreId } from './table-threads.js';
import { parseShape } from './shapes.js';
import { storeErrors } from './store-errors.js';

export class TableDocuments implements DocumentStore {
  readonly #limits: DocumentLimits;

  constructor(
    readonly database: TableCalls,
    readonly now: () => number,
    limits: Partial<DocumentLimits> = {},
  ) {
    this.#limits = { ...DOCUMENT_LIMITS, ...limits };
  }

  async save(draft: DocumentDraft): Promise<DocumentInfo> {
    const {
      about = {},
      expiresAt,
      ifVersion,
      idempotencyKey,
      fence,
      ...document
    } = parseShape(DocumentDraftSchema, draft, 'document');
    if (!mayExist(document.scope)) throw storeErrors.notFound('thread', document.scope.id);
    const checked = { ...document, about, expiresAt, ifVersion, idempotencyKey, fence };
    return this.database.call('documents', 'save', checked, this.#limits, this.now());
  }

  async read(place: DocumentPlace, version?: number): Promise<StoredDocument | undefined> {
    const checked = parseShape(DocumentPlaceSchema, place, 'place');
    const isVersion = version === undefined || (Number.isSafeInteger(version) && version > 0);
    if (!isVersion || !mayExist(checked.scope)) return undefined;
    return this.database.call('documents', 'read', checked, version, this.now());
  }

  async list(query: DocumentQuery): Promise<DocumentPage> {
    const parsed = parseShape(DocumentQuerySchema, query, 'query');
    const { scope, kind, prefix = '', after, limit = DEFAULT_PAGE } = parsed;
    if (!mayExist(scope)) return { documents: [] };
    const found = await this.database.call('documents', 'list', { scope, kind, prefix, after, limit }, this.now());
    const documents = found.slice(0, limit);
    return { documents, ...(found.length > limit ? { next: documents.at(-1)!.name } : {}) };
  }

  async versions(place: DocumentPlace): Promise<readonly DocumentInfo[]> {
    const checked = parseShape(DocumentPlaceSchema, place, 'place');
    return mayExist(checked.scope) ? this.database.call('documents', 'versions', checked, this.now()) : [];
  }

  async delete(deletion: DocumentDeletion): Promise<boolean> {
    const { ifVersion, idempotencyKey, fence, ...place } = parseShape(DocumentDeletionSchema, deletion, 'deletion');
    if (!mayExist(place.scope)) return false;
    const checked = { ...place, ifVersion, idempotencyKey, fence };
    return this.database.call('documents', 'delete', checked, this.#limits, this.now());
  }

  async deleteExpired(): Promise<number> {
    return this.database.call('documents', 'deleteExpired', this.now());
  }
}

function mayExist({ kind, id }: DocumentScope): boolean {
  return kind !== 'thread' || isStoreId(id);
}
