import {
  DocumentDeletionSchema,
  DocumentDraftSchema,
  DocumentPlaceSchema,
  type DocumentDeletion,
  type DocumentDraft,
  type DocumentPlace,
  type DocumentScope,
  type DocumentStore,
  type RunFence,
} from '@toolscript/core/protocol';
import { present } from '@toolscript/core/internal';
import {
  CHANGE_MEMORY_MS,
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
import { changeName } from '../store-rules.js';

export interface MemoryDocumentsOptions {
  /** The clock, in ms since 1970. Default: the system clock. */
  now?: (() => number) | undefined;
  limits?: Partial<DocumentLimits> | undefined;
  /** Whether a thread exists. Default: every thread does. */
  threadExists?: ((threadId: string) => boolean) | undefined;
  /** The epoch of a run's latest claim; undefined if the run does not exist. Default: every writer has the latest claim. */
  runEpoch?: ((fence: RunFence) => number | undefined) | undefined;
}

/** The result of a change with an idempotency key: the saved version, or whether a document was deleted. */
interface Change {
  readonly result: DocumentInfo | boolean;
  readonly madeAt: number;
}

/** The documents of one scope and kind. */
interface Shelf {
  readonly scope: DocumentScope;
  /** The versions by name, the oldest version first. */
  readonly documents: Map<string, readonly StoredDocument[]>;
  /** The last numbers of deleted names. */
  readonly deleted: Map<string, number>;
  /** The highest number of the names that have left `deleted`. */
  floor: number;
  /** The changes with an idempotency key, the oldest first. */
  readonly changes: Map<string, Change>;
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
  readonly #runEpoch: (fence: RunFence) => number | undefined;

  constructor({
    now = Date.now,
    limits,
    threadExists = () => true,
    runEpoch = ({ epoch }) => epoch,
  }: MemoryDocumentsOptions) {
    this.#now = now;
    this.#limits = { ...DOCUMENT_LIMITS, ...limits };
    this.#threadExists = threadExists;
    this.#runEpoch = runEpoch;
  }

  async save(draft: DocumentDraft): Promise<DocumentInfo> {
    const parsed = parseShape(DocumentDraftSchema, draft, 'document');
    const { scope, kind, name, text, about = {}, expiresAt, ifVersion } = parsed;
    this.#requireLatestClaim(parsed.fence);
    if (scope.kind === 'thread' && !this.#threadExists(scope.id)) throw storeErrors.notFound('thread', scope.id);
    const held = this.#shelf(scope, kind);
    return this.#once(held, 'save', parsed, () => {
      const shelf = held.documents;
      const earlier = shelf.get(name) ?? [];
      const newest = earlier.at(-1)?.version ?? 0;
      refuseOtherVersion(name, ifVersion, newest);
      const bytes = Buffer.byteLength(text);
      this.#refuseBeyondLimits(shelf, kind, { bytes, isNew: newest === 0 });
      const saved: StoredDocument = {
        scope,
        kind,
        name,
        version: Math.max(newest, newest === 0 ? (held.deleted.get(name) ?? held.floor) : 0) + 1,
        bytes,
        about,
        createdAt: this.#now(),
        ...present({ expiresAt }),
        text,
      };
      shelf.set(name, [...earlier, saved].slice(-this.#limits.versions));
      held.deleted.delete(name);
      return withoutText(saved);
    });
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

  async delete(deletion: DocumentDeletion): Promise<boolean> {
    const parsed = parseShape(DocumentDeletionSchema, deletion, 'deletion');
    const { scope, kind, name, ifVersion } = parsed;
    this.#requireLatestClaim(parsed.fence);
    if (scope.kind === 'thread' && !this.#threadExists(scope.id)) return false;
    const shelf = this.#shelf(scope, kind);
    return this.#once(shelf, 'delete', parsed, () => {
      refuseOtherVersion(name, ifVersion, shelf.documents.get(name)?.at(-1)?.version ?? 0);
      return this.#drop(shelf, name);
    });
  }

  async deleteExpired(): Promise<number> {
    let deleted = 0;
    for (const shelf of this.#shelves.values()) deleted += this.#dropExpired(shelf);
    return deleted;
  }

  /** The bytes of all versions of the documents of a scope. */
  bytesOf({ kind, id }: DocumentScope): number {
    return [...this.#shelves.values()]
      .filter(({ scope }) => scope.kind === kind && scope.id === id)
      .flatMap(({ documents }) => [...documents.values()].flat())
      .reduce((sum, { bytes }) => sum + bytes, 0);
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

  #requireLatestClaim(fence: RunFence | undefined): void {
    if (fence !== undefined && this.#runEpoch(fence) !== fence.epoch)
      throw storeErrors.runNotHeld(fence.runId, fence.epoch);
  }

  /** Makes a change. Returns the result of the first change, without a change, if this one has the same key. */
  #once<Result extends DocumentInfo | boolean>(
    { changes }: Shelf,
    kind: 'save' | 'delete',
    { name, idempotencyKey }: { readonly name: string; readonly idempotencyKey?: string | undefined },
    change: () => Result,
  ): Result {
    if (idempotencyKey === undefined) return change();
    for (const [key, { madeAt }] of changes) if (madeAt <= this.#now() - CHANGE_MEMORY_MS) changes.delete(key);
    const key = changeName(kind, name, idempotencyKey);
    const repeated = changes.get(key);
    if (repeated !== undefined) return structuredClone(repeated.result) as Result;
    const result = change();
    changes.set(key, { result: structuredClone(result), madeAt: this.#now() });
    for (const oldest of changes.keys()) {
      if (changes.size <= this.#limits.changes) break;
      changes.delete(oldest);
    }
    return result;
  }

  #documentVersions(place: DocumentPlace): readonly StoredDocument[] {
    const { scope, kind, name } = parseShape(DocumentPlaceSchema, place, 'place');
    return this.#shelf(scope, kind).documents.get(name) ?? [];
  }

  /** The documents of a scope and kind, after expired ones have been dropped. */
  #shelf(scope: DocumentScope, kind: string): Shelf {
    const key = JSON.stringify([kind, scope.kind, scope.id]);
    let shelf = this.#shelves.get(key);
    if (shelf === undefined)
      this.#shelves.set(
        key,
        (shelf = { scope, documents: new Map(), deleted: new Map(), floor: 0, changes: new Map() }),
      );
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

function refuseOtherVersion(name: string, ifVersion: number | undefined, newest: number): void {
  if (ifVersion !== undefined && ifVersion !== newest) throw storeErrors.otherVersion(name, ifVersion, newest);
}

function withoutText({ scope, kind, name, version, bytes, about, createdAt, expiresAt }: StoredDocument): DocumentInfo {
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
