import {
  DocumentDraftSchema,
  DocumentPlaceSchema,
  type DocumentDraft,
  type DocumentPlace,
  type DocumentScope,
  type DocumentStore,
} from '@toolscript/core/protocol';
import { present } from '@toolscript/core/internal';
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
import { parseShape } from '../shapes.js';
import { storeErrors } from '../store-errors.js';

export interface MemoryDocumentsOptions {
  /** The clock, in ms since 1970. Default: the system clock. */
  now?: (() => number) | undefined;
  limits?: Partial<DocumentLimits> | undefined;
  /** Whether a thread exists. Default: every thread does. */
  threadExists?: ((threadId: string) => boolean) | undefined;
}

/** A stored version, and the key of the call that stored it. */
interface Version extends StoredDocument {
  readonly idempotencyKey: string | undefined;
}

/** The documents of one scope and kind. */
interface Shelf {
  readonly scope: DocumentScope;
  /** The versions by name, the oldest version first. */
  readonly documents: Map<string, readonly Version[]>;
  /** The last numbers of deleted names. */
  readonly deleted: Map<string, number>;
  /** The highest number of the names that have left `deleted`. */
  floor: number;
}

/** Documents in memory: for tests, and for hosts whose documents need not outlive the process. */
export function memoryDocuments(options: MemoryDocumentsOptions = {}): MemoryDocuments {
  return new MemoryDocuments(options);
}

export class MemoryDocuments implements DocumentStore {
  readonly #shelves = new Map<string, Shelf>();
  readonly #now: () => number;
  readonly #limits: DocumentLimits;
  readonly #threadExists: (threadId: string) => boolean;

  constructor({ now = Date.now, limits, threadExists = () => true }: MemoryDocumentsOptions) {
    this.#now = now;
    this.#limits = { ...DOCUMENT_LIMITS, ...limits };
    this.#threadExists = threadExists;
  }

  async save(draft: DocumentDraft): Promise<DocumentInfo> {
    const {
      scope,
      kind,
      name,
      text,
      about = {},
      expiresAt,
      ifVersion,
      idempotencyKey,
    } = parseShape(DocumentDraftSchema, draft, 'document');
    if (scope.kind === 'thread' && !this.#threadExists(scope.id)) throw storeErrors.notFound('thread', scope.id);
    const held = this.#shelf(scope, kind);
    const shelf = held.documents;
    const earlier = shelf.get(name) ?? [];
    const repeated = earlier.find((one) => idempotencyKey !== undefined && one.idempotencyKey === idempotencyKey);
    if (repeated !== undefined) return withoutText(repeated);
    const newest = earlier.at(-1)?.version ?? 0;
    if (ifVersion !== undefined && ifVersion !== newest) throw storeErrors.otherVersion(name, ifVersion, newest);
    const bytes = Buffer.byteLength(text);
    this.#refuseBeyondLimits(shelf, kind, { bytes, isNew: newest === 0 });
    const saved: Version = {
      scope,
      kind,
      name,
      version: Math.max(newest, newest === 0 ? (held.deleted.get(name) ?? held.floor) : 0) + 1,
      bytes,
      about,
      createdAt: this.#now(),
      ...present({ expiresAt }),
      text,
      idempotencyKey,
    };
    shelf.set(name, [...earlier, saved].slice(-this.#limits.versions));
    held.deleted.delete(name);
    return withoutText(saved);
  }

  async read(place: DocumentPlace, version?: number): Promise<StoredDocument | undefined> {
    const versions = this.#documentVersions(place);
    const found = version === undefined ? versions.at(-1) : versions.find((one) => one.version === version);
    return found === undefined ? undefined : { ...withoutText(found), text: found.text };
  }

  async list(query: DocumentQuery): Promise<DocumentPage> {
    const { scope, kind, prefix = '', after, limit = DEFAULT_PAGE } = parseShape(DocumentQuerySchema, query, 'query');
    const shelf = this.#shelf(scope, kind).documents;
    const names = [...shelf.keys()]
      .filter((name) => name.startsWith(prefix) && (after === undefined || name > after))
      .toSorted((one, other) => (one < other ? -1 : 1));
    const documents = names.slice(0, limit).map((name) => withoutText(shelf.get(name)!.at(-1)!));
    const last = documents.at(-1);
    return {
      documents,
      ...(names.length > limit && last !== undefined ? { next: last.name } : {}),
    };
  }

  async versions(place: DocumentPlace): Promise<readonly DocumentInfo[]> {
    return this.#documentVersions(place).map(withoutText).toReversed();
  }

  async delete(place: DocumentPlace): Promise<boolean> {
    const { scope, kind, name } = parseShape(DocumentPlaceSchema, place, 'place');
    return this.#drop(this.#shelf(scope, kind), name);
  }

  async deleteExpired(): Promise<number> {
    let deleted = 0;
    for (const shelf of this.#shelves.values()) deleted += this.#dropExpired(shelf);
    return deleted;
  }

  /** Deletes all documents of a thread that was deleted. */
  deleteThread(threadId: string): void {
    for (const [key, { scope }] of this.#shelves)
      if (scope.kind === 'thread' && scope.id === threadId) this.#shelves.delete(key);
  }

  /** Copies the versions of the documents of a thread to another thread, if they were saved at `until` or earlier. */
  copyThread(from: string, to: string, until: number): void {
    for (const { scope, documents } of this.#shelves.values()) {
      if (scope.kind !== 'thread' || scope.id !== from) continue;
      for (const [name, versions] of documents) {
        const copied = versions
          .filter(({ createdAt }) => createdAt <= until)
          .map((one) => ({ ...one, scope: { ...scope, id: to } }));
        if (copied.length === 0) continue;
        const shelf = this.#shelf(copied[0]!.scope, copied[0]!.kind);
        shelf.documents.set(name, copied);
      }
    }
  }

  #documentVersions(place: DocumentPlace): readonly Version[] {
    const { scope, kind, name } = parseShape(DocumentPlaceSchema, place, 'place');
    return this.#shelf(scope, kind).documents.get(name) ?? [];
  }

  /** The documents of a scope and kind, after expired ones have been dropped. */
  #shelf(scope: DocumentScope, kind: string): Shelf {
    const key = JSON.stringify([kind, scope.kind, scope.id]);
    let shelf = this.#shelves.get(key);
    if (shelf === undefined)
      this.#shelves.set(key, (shelf = { scope, documents: new Map(), deleted: new Map(), floor: 0 }));
    this.#dropExpired(shelf);
    return shelf;
  }

  /** Deletes a document, but not the last number of its name. The memory of a shelf has at most one number for each document. */
  #drop(shelf: Shelf, name: string): boolean {
    const newest = shelf.documents.get(name)?.at(-1);
    if (newest === undefined) return false;
    shelf.documents.delete(name);
    // defence: memory-version-numbers-survive-deletion
    shelf.deleted.set(name, newest.version);
    for (const [oldest, version] of shelf.deleted) {
      if (shelf.deleted.size <= this.#limits.documents) break;
      shelf.deleted.delete(oldest);
      shelf.floor = Math.max(shelf.floor, version);
    }
    return true;
  }

  #dropExpired(shelf: Shelf): number {
    const { documents } = shelf;
    const before = documents.size;
    for (const [name, versions] of documents) {
      const { expiresAt = Infinity } = versions.at(-1)!;
      if (expiresAt <= this.#now()) this.#drop(shelf, name);
    }
    return before - documents.size;
  }

  #refuseBeyondLimits(
    shelf: Shelf['documents'],
    kind: string,
    { bytes, isNew }: { bytes: number; isNew: boolean },
  ): void {
    const limits = this.#limits;
    if (bytes > limits.bytes) throw storeErrors.tooLarge(bytes, limits.bytes);
    if (isNew && shelf.size >= limits.documents) throw storeErrors.tooManyDocuments(kind, limits.documents);
    const stored = [...shelf.values()].flat().reduce((sum, one) => sum + one.bytes, 0);
    if (stored + bytes > limits.totalBytes) throw storeErrors.tooManyBytes(kind, limits.totalBytes);
  }
}

function withoutText({ scope, kind, name, version, bytes, about, createdAt, expiresAt }: Version): DocumentInfo {
  return {
    scope,
    kind,
    name,
    version,
    bytes,
    about: structuredClone(about),
    createdAt,
    ...present({ expiresAt }),
  };
}
