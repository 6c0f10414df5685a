import {
  DocumentKindSchema,
  present,
  storeErrors,
  type DocumentInfo,
  type DocumentKind,
  type DocumentLimits,
  type DocumentPlace,
  type DocumentScope,
  type StoredDocument,
} from '@toolscript/core/protocol';
import { createHash } from 'node:crypto';
import type { Database, Row, Value } from './database.js';
import { encode, encodeOptional } from './rows.js';

/** A draft with checked members. */
export interface CheckedDocument extends DocumentPlace {
  readonly text: string;
  readonly about: Readonly<Record<string, unknown>>;
  readonly expiresAt: number | undefined;
  readonly ifVersion: number | undefined;
  readonly idempotencyKey: string | undefined;
}

export interface DocumentList {
  readonly scope: DocumentScope;
  readonly kind: DocumentKind;
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number;
}

/** Maximum number of expired documents that one transaction deletes. */
const MAX_EXPIRED = 1_000;

/** The columns of a version, without its text. */
const INFO = 'v.version, v.bytes, v.about, v.created_at, v.expires_at, d.name';

/** The versions of a shelf's documents, without expired documents. */
const FOUND = `FROM documents d JOIN document_versions v ON v.shelf = d.shelf AND v.name = d.name
  WHERE d.shelf = :shelf AND (d.expires_at IS NULL OR d.expires_at > :now)`;

/**
 * Documents in the database; each function is one transaction. A shelf contains the documents of one scope and kind. A
 * row of `documents` is a name with its newest version; `document_versions` has the texts.
 */
export class DocumentTables {
  constructor(readonly database: Database) {}

  save(draft: CheckedDocument, limits: DocumentLimits, now: number): Promise<DocumentInfo> {
    return this.database.write(async () => {
      const place = { shelf: shelfOf(draft.scope, draft.kind), name: sortable(draft.name) };
      await this.database.lock(`documents ${place.shelf}`);
      if (draft.scope.kind === 'thread' && !(await this.#isThread(draft.scope.id)))
        throw storeErrors.notFound('thread', draft.scope.id);
      await this.database.run('DELETE FROM documents WHERE shelf = :shelf AND expires_at <= :now', {
        shelf: place.shelf,
        now,
      });
      const repeated = await this.#savedWith(place, draft.idempotencyKey, now);
      if (repeated !== undefined) return infoOf(draft, repeated);
      const newest = await this.#newest(place);
      // defence: documents-compare-and-set
      if (draft.ifVersion !== undefined && draft.ifVersion !== newest)
        throw storeErrors.otherVersion(draft.name, draft.ifVersion, newest);
      const bytes = Buffer.byteLength(draft.text);
      await this.#refuseBeyond(limits, draft.kind, { shelf: place.shelf, bytes, isNew: newest === 0 });
      return this.#insert(draft, place, { version: newest + 1, bytes, versions: limits.versions, now });
    });
  }

  async read(place: DocumentPlace, version: number | undefined, now: number): Promise<StoredDocument | undefined> {
    const row = await this.database.first(
      `SELECT ${INFO}, v.text ${FOUND} AND d.name = :name AND v.version = coalesce(:version, d.version)`,
      { shelf: shelfOf(place.scope, place.kind), name: sortable(place.name), version: version ?? null, now },
    );
    return row && { ...infoOf(place, row), text: JSON.parse(row.text as string) as string };
  }

  /** The documents of a page, and one more document if another page follows. */
  async list({ scope, kind, prefix, after, limit }: DocumentList, now: number): Promise<DocumentInfo[]> {
    const start = sortable(prefix);
    const rows = await this.database.all(
      `SELECT ${INFO} ${FOUND} AND v.version = d.version AND d.name >= :start AND d.name < :end AND d.name > :after
      ORDER BY d.name LIMIT :limit`,
      // The end is exclusive: "g" sorts after every hexadecimal digit.
      { shelf: shelfOf(scope, kind), now, start, end: `${start}g`, after: sortable(after ?? ''), limit: limit + 1 },
    );
    return rows.map((row) => infoOf({ scope, kind, name: fromSortable(row.name as string) }, row));
  }

  async versions(place: DocumentPlace, now: number): Promise<DocumentInfo[]> {
    const rows = await this.database.all(`SELECT ${INFO} ${FOUND} AND d.name = :name ORDER BY v.version DESC`, {
      shelf: shelfOf(place.scope, place.kind),
      name: sortable(place.name),
      now,
    });
    return rows.map((row) => infoOf(place, row));
  }

  delete({ scope, kind, name }: DocumentPlace, now: number): Promise<boolean> {
    return this.database.write(async () => {
      const place = { shelf: shelfOf(scope, kind), name: sortable(name) };
      const row = await this.database.first(
        'DELETE FROM documents WHERE shelf = :shelf AND name = :name RETURNING expires_at',
        place,
      );
      return row !== undefined && (row.expires_at === null || (row.expires_at as number) > now);
    });
  }

  deleteExpired(now: number): Promise<number> {
    return this.database.write(async () => {
      const rows = await this.database.all(
        `DELETE FROM documents WHERE (shelf, name) IN (
          SELECT shelf, name FROM documents WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit)
        RETURNING name`,
        { now, limit: MAX_EXPIRED },
      );
      return rows.length;
    });
  }

  async #isThread(threadId: string): Promise<boolean> {
    const sql = 'SELECT 1 AS one FROM threads WHERE thread_id = :threadId';
    return (await this.database.first(sql, { threadId })) !== undefined;
  }

  async #savedWith({ shelf, name }: Key, key: string | undefined, now: number): Promise<Row | undefined> {
    if (key === undefined) return undefined;
    const sql = `SELECT ${INFO} ${FOUND} AND d.name = :name AND v.idempotency_key = :key`;
    return this.database.first(sql, { shelf, name, now, key: encode(key) });
  }

  async #newest({ shelf, name }: Key): Promise<number> {
    const sql = 'SELECT version FROM documents WHERE shelf = :shelf AND name = :name';
    return ((await this.database.first(sql, { shelf, name }))?.version as number | undefined) ?? 0;
  }

  async #refuseBeyond(
    limits: DocumentLimits,
    kind: DocumentKind,
    { shelf, bytes, isNew }: { shelf: string; bytes: number; isNew: boolean },
  ): Promise<void> {
    // defence: documents-are-limited, without it: return;
    if (bytes > limits.bytes) throw storeErrors.tooLarge(bytes, limits.bytes);
    const counted = await this.database.first(
      `SELECT (SELECT count(*) FROM documents WHERE shelf = :shelf) AS documents,
      (SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM document_versions WHERE shelf = :shelf) AS bytes`,
      { shelf },
    );
    const stored = counted as Readonly<{ documents: number; bytes: number }>;
    if (isNew && stored.documents >= limits.documents) throw storeErrors.tooManyDocuments(kind, limits.documents);
    if (stored.bytes + bytes > limits.totalBytes) throw storeErrors.tooManyBytes(kind, limits.totalBytes);
  }

  async #insert(
    draft: CheckedDocument,
    { shelf, name }: Key,
    { version, bytes, versions, now }: { version: number; bytes: number; versions: number; now: number },
  ): Promise<DocumentInfo> {
    const { scope, kind, about, idempotencyKey, text } = draft;
    const expiresAt = draft.expiresAt ?? null;
    const change = { shelf, name, version, expiresAt };
    await this.database.run(
      `INSERT INTO documents VALUES (:shelf, :name, :scopeKind, :scopeId, :kind, :threadId, :version, :expiresAt)
      ON CONFLICT (shelf, name) DO UPDATE SET version = excluded.version, expires_at = excluded.expires_at`,
      {
        ...change,
        scopeKind: scope.kind,
        scopeId: encode(scope.id),
        kind,
        threadId: scope.kind === 'thread' ? scope.id : null,
      },
    );
    const key = encodeOptional(idempotencyKey);
    const row: Value[] = [shelf, name, version, bytes, encode(about), now, expiresAt, key, encode(text)];
    await this.database.insert('document_versions', [row]);
    const oldest = { shelf, name, oldest: version - versions };
    await this.database.run(
      'DELETE FROM document_versions WHERE shelf = :shelf AND name = :name AND version <= :oldest',
      oldest,
    );
    return {
      scope,
      kind,
      name: draft.name,
      version,
      bytes,
      about,
      createdAt: now,
      ...present({ expiresAt: draft.expiresAt }),
    };
  }
}

/** Copies from one thread to another the document versions that were saved up to the time `until`. */
export async function copyDocuments(database: Database, from: string, to: string, until: number): Promise<void> {
  for (const kind of DocumentKindSchema.options) {
    const [source, target] = [from, to].map((id) => shelfOf({ kind: 'thread', id }, kind)) as [string, string];
    await database.run(
      `INSERT INTO documents
      SELECT :target, d.name, d.scope_kind, :scopeId, d.kind, :to, v.version, v.expires_at
      FROM documents d JOIN document_versions v ON v.shelf = d.shelf AND v.name = d.name
      WHERE d.shelf = :source AND v.version = (
        SELECT max(version) FROM document_versions o
        WHERE o.shelf = d.shelf AND o.name = d.name AND o.created_at <= :until)`,
      { source, target, to, scopeId: encode(to), until },
    );
    await database.run(
      `INSERT INTO document_versions
      SELECT :target, name, version, bytes, about, created_at, expires_at, idempotency_key, text
      FROM document_versions WHERE shelf = :source AND created_at <= :until`,
      { source, target, until },
    );
  }
}

/** The columns of a document's key. */
interface Key {
  readonly shelf: string;
  readonly name: string;
}

/**
 * The hash that names a shelf. An index key of PostgreSQL has at most 2 704 bytes, and the id of a scope may be longer.
 */
function shelfOf({ kind: scopeKind, id }: DocumentScope, kind: DocumentKind): string {
  return createHash('sha256')
    .update(encode([scopeKind, id, kind]))
    .digest('hex');
}

/**
 * The UTF-16 code units of a name, in hexadecimal. This form sorts like strings in JavaScript, preserves prefixes, and
 * represents NUL and lone surrogates.
 */
function sortable(name: string): string {
  return Buffer.from(name, 'utf16le').swap16().toString('hex');
}

function fromSortable(text: string): string {
  return Buffer.from(text, 'hex').swap16().toString('utf16le');
}

function infoOf({ scope, kind, name }: DocumentPlace, row: Row): DocumentInfo {
  return {
    scope,
    kind,
    name,
    version: row.version as number,
    bytes: row.bytes as number,
    about: JSON.parse(row.about as string) as Record<string, unknown>,
    createdAt: row.created_at as number,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at as number }),
  };
}
