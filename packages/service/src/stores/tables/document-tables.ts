import {
  DocumentKindSchema,
  type DocumentKind,
  type DocumentPlace,
  type DocumentScope,
  type RunFence,
} from '@toolscript/core/protocol';
import { present } from '@toolscript/core/internal';
import { CHANGE_MEMORY_MS, type DocumentInfo, type DocumentLimits, type StoredDocument } from '@toolscript/core/ports';
import { createHash } from 'node:crypto';
import type { Database, Parameters, Row, Value } from './database.js';
import { encode, requireLatestClaim } from './rows.js';
import { storeErrors } from '../store-errors.js';
import { changeName, newStoreId } from '../store-rules.js';

/** A deletion with checked members. */
export interface CheckedDeletion extends DocumentPlace {
  readonly ifVersion: number | undefined;
  readonly idempotencyKey: string | undefined;
  readonly fence: RunFence | undefined;
}

/** A draft with checked members. */
export interface CheckedDocument extends CheckedDeletion {
  readonly text: string;
  readonly about: Readonly<Record<string, unknown>>;
  readonly expiresAt: number | undefined;
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

/** The name of the row that has the highest number of deleted names. No document has an empty name. */
const FLOOR = '';

/** The columns of a version, without its text. */
const INFO = 'v.version, v.bytes, v.about, v.created_at, v.expires_at, d.name';

/** The versions of a shelf's documents, without expired documents. */
const FOUND = `FROM documents d JOIN document_versions v ON v.shelf = d.shelf AND v.name = d.name
  WHERE d.shelf = :shelf AND (d.expires_at IS NULL OR d.expires_at > :now)`;

/**
 * Documents in the database; each function is one transaction. A shelf contains the documents of one scope and kind. A
 * row of `documents` is a name with its newest version; `document_versions` refers to the texts, which
 * branches share; a text is deleted with its last version. `document_changes` has the
 * results of changes with an idempotency key; a deletion has the number of the version that was the newest, or 0.
 * `shelves` has the bytes of each shelf, and the principal for whom they count; those of a workspace count for nobody.
 */
export class DocumentTables {
  constructor(readonly database: Database) {}

  save(draft: CheckedDocument, limits: DocumentLimits, now: number): Promise<DocumentInfo> {
    return this.database.write(async () => {
      const place = await this.#begin(draft, now);
      const principal = await this.#payer(draft.scope);
      const change = changeHash('save', draft);
      const repeated = await this.#remembered(place.shelf, change, now);
      if (repeated !== undefined) return rowInfo(draft, { ...repeated, about: encode(draft.about) });
      const { newest, last } = await this.#numbers(place);
      refuseOtherVersion(draft, newest);
      const bytes = Buffer.byteLength(draft.text);
      await this.#refuseBeyond(limits, draft.kind, { shelf: place.shelf, bytes, isNew: newest === 0 });
      const saved = await this.#insert(draft, place, { version: last + 1, bytes, versions: limits.versions, now });
      await this.#remember(draft, place.shelf, change, { ...saved, most: limits.changes });
      await this.#forgetNumbers(draft, place.shelf, limits.documents);
      const { threadId } = scopeColumns(draft.scope, draft.kind);
      const shelf = { shelf: place.shelf, principal, threadId };
      await this.database.run(
        'INSERT INTO shelves VALUES (:shelf, :principal, :threadId, 0) ON CONFLICT (shelf) DO NOTHING',
        shelf,
      );
      await countBytes(this.database, place.shelf);
      return saved;
    });
  }

  async read(place: DocumentPlace, version: number | undefined, now: number): Promise<StoredDocument | undefined> {
    const row = await this.database.first(
      `SELECT ${INFO}, (SELECT t.text FROM document_texts t WHERE t.text_id = v.text_id) AS text ${FOUND} AND d.name = :name AND v.version = coalesce(:version, d.version)`,
      { shelf: shelfHash(place.scope, place.kind), name: sortable(place.name), version: version ?? null, now },
    );
    return row && { ...rowInfo(place, row), text: JSON.parse(row.text as string) as string };
  }

  /** The documents of a page, and one more document if another page follows. */
  async list({ scope, kind, prefix, after, limit }: DocumentList, now: number): Promise<DocumentInfo[]> {
    const start = sortable(prefix);
    const rows = await this.database.all(
      `SELECT ${INFO} ${FOUND} AND v.version = d.version AND d.name >= :start AND d.name < :end AND d.name > :after
      ORDER BY d.name LIMIT :limit`,
      // The end is exclusive: "g" sorts after every hexadecimal digit.
      { shelf: shelfHash(scope, kind), now, start, end: `${start}g`, after: sortable(after ?? ''), limit: limit + 1 },
    );
    return rows.map((row) => rowInfo({ scope, kind, name: fromSortable(row.name as string) }, row));
  }

  async versions(place: DocumentPlace, now: number): Promise<DocumentInfo[]> {
    const rows = await this.database.all(`SELECT ${INFO} ${FOUND} AND d.name = :name ORDER BY v.version DESC`, {
      shelf: shelfHash(place.scope, place.kind),
      name: sortable(place.name),
      now,
    });
    return rows.map((row) => rowInfo(place, row));
  }

  delete(deletion: CheckedDeletion, { changes: most }: DocumentLimits, now: number): Promise<boolean> {
    return this.database.write(async () => {
      const place = await this.#begin(deletion, now);
      if (deletion.scope.kind === 'thread' && !(await this.#isThread(deletion.scope.id))) return false;
      const change = changeHash('delete', deletion);
      const repeated = await this.#remembered(place.shelf, change, now);
      if (repeated !== undefined) return repeated.version !== 0;
      const { newest } = await this.#numbers(place);
      refuseOtherVersion(deletion, newest);
      await this.#empty('shelf = :shelf AND name = :name', { ...place });
      await this.#remember(deletion, place.shelf, change, { version: newest, bytes: 0, createdAt: now, most });
      return newest > 0;
    });
  }

  deleteExpired(now: number): Promise<number> {
    return this.database.write(async () => {
      await this.database.run('DELETE FROM document_changes WHERE made_at <= :before', {
        before: now - CHANGE_MEMORY_MS,
      });
      const isExpired = `(shelf, name) IN (
        SELECT shelf, name FROM documents WHERE expires_at <= :now ORDER BY expires_at, shelf, name LIMIT :limit)`;
      return this.#emptyExpired(isExpired, { now, limit: MAX_EXPIRED });
    });
  }

  /** Locks the shelf of a change, and empties its expired documents. */
  async #begin({ scope, kind, name, fence }: CheckedDeletion, now: number): Promise<Key> {
    if (fence !== undefined) await requireLatestClaim(this.database, fence);
    const place = { shelf: shelfHash(scope, kind), name: sortable(name) };
    await this.database.lock(`documents ${place.shelf}`);
    await this.#emptyExpired('shelf = :shelf AND expires_at <= :now', { shelf: place.shelf, now });
    return place;
  }

  /**
   * Deletes the versions of documents. Their rows in `documents` stay, because they have the last numbers of the names.
   * Returns the number of documents that had versions.
   */
  async #empty(condition: string, parameters: Parameters): Promise<number> {
    // defence: version-numbers-survive-deletion
    const rows = await deleteVersions(this.database, condition, parameters);
    for (const shelf of new Set(rows.map((row) => row.shelf as string))) await countBytes(this.database, shelf);
    return new Set(rows.map(({ shelf, name }) => `${shelf} ${name}`)).size;
  }

  async #emptyExpired(condition: string, parameters: Parameters): Promise<number> {
    const expired = `(shelf, name) IN (SELECT shelf, name FROM documents WHERE ${condition})`;
    const count = await this.#empty(expired, parameters);
    await this.database.run(`UPDATE documents SET expires_at = NULL WHERE ${condition}`, parameters);
    return count;
  }

  /** The principal for whom the documents of a scope count. Throws a `NotFoundError` if there is no such thread. */
  async #payer({ kind, id }: DocumentScope): Promise<Value> {
    if (kind !== 'thread') return kind === 'principal' ? encode(id) : null;
    const sql = 'SELECT principal FROM threads WHERE thread_id = :threadId';
    const found = await this.database.first(sql, { threadId: id });
    if (found === undefined) throw storeErrors.notFound('thread', id);
    return found.principal!;
  }

  async #isThread(threadId: string): Promise<boolean> {
    const sql = 'SELECT 1 AS one FROM threads WHERE thread_id = :threadId';
    return (await this.database.first(sql, { threadId })) !== undefined;
  }

  async #remembered(shelf: string, change: string | undefined, now: number): Promise<Row | undefined> {
    if (change === undefined) return undefined;
    const sql = `SELECT version, bytes, made_at AS created_at, expires_at FROM document_changes
      WHERE shelf = :shelf AND change = :change AND made_at > :before`;
    return this.database.first(sql, { shelf, change, before: now - CHANGE_MEMORY_MS });
  }

  /** Remembers the result of a change. Deletes what is known of all but the newest `most` changes of the shelf. */
  async #remember(
    { scope, kind }: DocumentPlace,
    shelf: string,
    change: string | undefined,
    {
      version,
      bytes,
      createdAt,
      expiresAt = null,
      most,
    }: Pick<DocumentInfo, 'version' | 'bytes' | 'createdAt'> & { expiresAt?: number | null | undefined; most: number },
  ): Promise<void> {
    if (change === undefined) return;
    const sql = 'SELECT coalesce(max(number), 0) + 1 AS number FROM document_changes WHERE shelf = :shelf';
    const { number } = (await this.database.first(sql, { shelf })) as Readonly<{ number: number }>;
    await this.database.run(
      'DELETE FROM document_changes WHERE shelf = :shelf AND (number <= :last OR change = :change)',
      {
        shelf,
        change,
        last: number - most,
      },
    );
    const { threadId } = scopeColumns(scope, kind);
    // defence: changes-outlive-documents
    await this.database.insert('document_changes', [
      [shelf, number, change, threadId, version, bytes, createdAt, expiresAt],
    ]);
  }

  /** `newest`: the newest stored version; 0 if there is none. `last`: the last number that the name has had. */
  async #numbers({ shelf, name }: Key): Promise<{ newest: number; last: number }> {
    const sql = `SELECT name, version, (SELECT count(*) FROM document_versions v WHERE v.shelf = d.shelf AND v.name = d.name)
      AS stored FROM documents d WHERE shelf = :shelf AND name IN (:name, :floor)`;
    const rows = await this.database.all(sql, { shelf, name, floor: FLOOR });
    const own = rows.find((row) => row.name === name);
    const last = own ?? rows[0];
    return {
      newest: own !== undefined && (own.stored as number) > 0 ? (own.version as number) : 0,
      last: (last?.version as number | undefined) ?? 0,
    };
  }

  /**
   * Replaces the rows of deleted documents, if there are more of them than documents may be stored, by one row with the
   * highest of their numbers: later documents start above this number.
   */
  async #forgetNumbers({ scope, kind }: DocumentPlace, shelf: string, most: number): Promise<void> {
    const isDeleted = `shelf = :shelf AND name <> :floor AND name NOT IN (
      SELECT name FROM document_versions WHERE shelf = :shelf)`;
    const place = { shelf, floor: FLOOR };
    const sql = `SELECT count(*) AS names, coalesce(max(version), 0) AS last FROM documents WHERE ${isDeleted}`;
    const { names, last } = (await this.database.first(sql, place)) as Readonly<{ names: number; last: number }>;
    if (names <= most) return;
    await this.database.run(`DELETE FROM documents WHERE ${isDeleted}`, place);
    await this.database.run(
      `INSERT INTO documents VALUES (:shelf, :floor, :scopeKind, :scopeId, :kind, :threadId, :last, NULL)
      ON CONFLICT (shelf, name) DO UPDATE SET version =
        CASE WHEN documents.version > excluded.version THEN documents.version ELSE excluded.version END`,
      { ...place, last, ...scopeColumns(scope, kind) },
    );
  }

  async #refuseBeyond(
    limits: DocumentLimits,
    kind: DocumentKind,
    { shelf, bytes, isNew }: { shelf: string; bytes: number; isNew: boolean },
  ): Promise<void> {
    // defence: documents-are-limited
    if (bytes > limits.bytes) throw storeErrors.tooLarge(bytes, limits.bytes);
    const counted = await this.database.first(
      `SELECT (SELECT count(DISTINCT name) FROM document_versions WHERE shelf = :shelf) AS documents,
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
    const { scope, kind, about, text } = draft;
    const expiresAt = draft.expiresAt ?? null;
    const change = { shelf, name, version, expiresAt };
    await this.database.run(
      `INSERT INTO documents VALUES (:shelf, :name, :scopeKind, :scopeId, :kind, :threadId, :version, :expiresAt)
      ON CONFLICT (shelf, name) DO UPDATE SET version = excluded.version, expires_at = excluded.expires_at`,
      {
        ...change,
        ...scopeColumns(scope, kind),
      },
    );
    const textId = newStoreId('txt');
    await this.database.insert('document_texts', [[textId, encode(text)]]);
    const row: Value[] = [shelf, name, version, bytes, encode(about), now, expiresAt, textId];
    await this.database.insert('document_versions', [row]);
    const oldest = { shelf, name, oldest: version - versions };
    await deleteVersions(this.database, 'shelf = :shelf AND name = :name AND version <= :oldest', oldest);
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

function scopeColumns(scope: DocumentScope, kind: DocumentKind) {
  const threadId = scope.kind === 'thread' ? scope.id : null;
  return { scopeKind: scope.kind, scopeId: encode(scope.id), kind, threadId };
}

/** Deletes the versions of all documents of a thread. */
export async function deleteThreadVersions(database: Database, threadId: string): Promise<void> {
  const condition = 'shelf IN (SELECT shelf FROM documents WHERE thread_id = :threadId)';
  await deleteVersions(database, condition, { threadId });
}

/** Deletes versions, and the texts that no other version has. Returns the places of the versions. */
async function deleteVersions(database: Database, condition: string, parameters: Parameters): Promise<Row[]> {
  const { forUpdate, isOneOf } = database.dialect;
  const ofVersions = `text_id IN (SELECT text_id FROM document_versions WHERE ${condition})`;
  // If two branches delete a text at the same time, the second deletion sees the effect of the first one.
  const lock = `SELECT 1 FROM document_texts WHERE ${ofVersions} ORDER BY text_id ${forUpdate}`;
  await database.all(lock, parameters);
  const sql = `DELETE FROM document_versions WHERE ${condition} RETURNING shelf, name, text_id`;
  const rows = await database.all(sql, parameters);
  if (rows.length === 0) return rows;
  await database.run(
    `DELETE FROM document_texts WHERE ${isOneOf('text_id', ':ids')} AND NOT EXISTS (
      SELECT 1 FROM document_versions v WHERE v.text_id = document_texts.text_id)`,
    { ids: encode(rows.map((row) => row.text_id)) },
  );
  return rows;
}

/** Sets the bytes of a shelf to those of its versions. */
function countBytes(database: Database, shelf: string): Promise<void> {
  return database.run(
    `UPDATE shelves SET bytes = (
      SELECT CAST(coalesce(sum(v.bytes), 0) AS BIGINT) FROM document_versions v WHERE v.shelf = :shelf)
    WHERE shelf = :shelf`,
    { shelf },
  );
}

/** Copies from one thread to another the document versions that were saved up to the time `until`. */
export async function copyDocuments(database: Database, from: string, to: string, until: number): Promise<void> {
  for (const kind of DocumentKindSchema.options) {
    const [source, target] = [from, to].map((id) => shelfHash({ kind: 'thread', id }, kind)) as [string, string];
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
      SELECT :target, name, version, bytes, about, created_at, expires_at, text_id
      FROM document_versions WHERE shelf = :source AND created_at <= :until`,
      { source, target, until },
    );
    const shelf = 'INSERT INTO shelves SELECT :target, principal, :to, bytes FROM shelves WHERE shelf = :source';
    await database.run(shelf, { source, target, to });
    await countBytes(database, target);
  }
}

function refuseOtherVersion({ name, ifVersion }: CheckedDeletion, newest: number): void {
  // defence: documents-compare-and-set
  if (ifVersion !== undefined && ifVersion !== newest) throw storeErrors.otherVersion(name, ifVersion, newest);
}

/** The hash that names a change of a document by its idempotency key. Undefined for a change without a key. */
function changeHash(kind: 'save' | 'delete', { name, idempotencyKey }: CheckedDeletion): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  return createHash('sha256')
    .update(changeName(kind, name, idempotencyKey))
    .digest('hex');
}

/** The columns of a document's key. */
interface Key {
  readonly shelf: string;
  readonly name: string;
}

/**
 * The hash that names a shelf. An index key of PostgreSQL has at most 2 704 bytes, and the id of a scope may be longer.
 */
function shelfHash({ kind: scopeKind, id }: DocumentScope, kind: DocumentKind): string {
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

function rowInfo({ scope, kind, name }: DocumentPlace, row: Row): DocumentInfo {
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
