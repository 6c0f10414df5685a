import { createHash } from 'node:crypto';
import { checkHeapBytes, heapBytes, heapNotFound } from '@toolscript/core/internal';
import type {
  HeapCollection,
  HeapDraft,
  HeapInheritance,
  HeapInfo,
  HeapLimits,
  OldThreads,
  StoredHeap,
} from '@toolscript/core/ports';
import type { Database, Parameters, Row } from './database.js';
import { encode } from './rows.js';
import { storedJson } from '../stored-json.js';

/** The columns of a heap without its state. */
const INFO = 'heap_id, parent_id, is_delta, thread_id, head, images, bytes, created_at';

/** Heaps in the database; each function is one transaction. `owner` is the hash of a principal. */
export class HeapTables {
  constructor(readonly database: Database) {}

  add(draft: HeapDraft, limits: Partial<HeapLimits>, now: number): Promise<'added' | 'overtaken'> {
    return this.database.write(async () => {
      const { heapId, parentId, threadId, isDelta = false, head, images = [], state } = draft;
      const owner = ownerHash(draft.principal);
      await lockHeaps(this.database, owner);
      if (await this.#has(owner, heapId)) return 'added';
      const newest = threadId === undefined ? undefined : await this.#newest(owner, threadId);
      if (newest !== undefined && newest.heap_id !== parentId) return 'overtaken';
      if (parentId !== undefined && !(await this.#has(owner, parentId))) throw heapNotFound(parentId);
      const bytes = heapBytes(draft);
      const sql = 'SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM heaps WHERE owner = :owner';
      checkHeapBytes(bytes, (await this.database.first(sql, { owner }))!.bytes as number, limits);
      const position = await this.database.nextNumber();
      const links = [owner, heapId, position, parentId ?? null, isDelta ? 1 : 0, threadId ?? null];
      await this.database.insert('heaps', [[...links, head, encode(images), bytes, now, state]]);
      return 'added';
    });
  }

  async read(principal: string, heapId: string): Promise<StoredHeap[]> {
    const rows = await this.database.all(
      `WITH RECURSIVE chain (base, parent, delta, depth) AS (
        SELECT heap_id, parent_id, is_delta, 0 FROM heaps WHERE owner = :owner AND heap_id = :heapId
        UNION ALL SELECT h.heap_id, h.parent_id, h.is_delta, chain.depth + 1 FROM chain
          JOIN heaps h ON h.owner = :owner AND h.heap_id = chain.parent WHERE chain.delta = 1)
      SELECT ${INFO}, state FROM chain JOIN heaps ON owner = :owner AND heap_id = base ORDER BY depth DESC`,
      { owner: ownerHash(principal), heapId },
    );
    return rows.map((row) => ({ ...rowHeap(principal, row), state: new Uint8Array(row.state as Uint8Array) }));
  }

  async newest(principal: string, threadId: string): Promise<HeapInfo | undefined> {
    const row = await this.#newest(ownerHash(principal), threadId);
    return row && rowHeap(principal, row);
  }

  async oldThreads({ prefix, before }: OldThreads): Promise<string[]> {
    const rows = await this.database.all(
      `SELECT thread_id FROM heaps WHERE substr(thread_id, 1, CAST(:length AS INTEGER)) = :prefix
      GROUP BY thread_id HAVING max(created_at) < :before`,
      { prefix, length: prefix.length, before },
    );
    return rows.map(({ thread_id }) => thread_id as string);
  }

  async images(): Promise<string[]> {
    const rows = await this.database.all('SELECT DISTINCT images FROM heaps');
    return [...new Set(rows.flatMap(({ images }) => storedJson(images as string) as string[]))];
  }

  deleteThread(threadId: string, principal: string | undefined): Promise<void> {
    return this.database.write(() => deleteThreadHeaps(this.database, threadId, principal));
  }

  inherit({ principal, from, to, heapIds }: HeapInheritance): Promise<void> {
    return this.database.write(async () => {
      const owner = ownerHash(principal);
      await lockHeaps(this.database, owner);
      const isInherited = this.database.dialect.isOneOf('heap_id', ':heapIds');
      const sql = `UPDATE heaps SET thread_id = :to WHERE owner = :owner AND thread_id = :from AND ${isInherited}`;
      await this.database.run(sql, { owner, from, to, heapIds: encode(heapIds) });
    });
  }

  collect({ threadId, principal, named = [], before }: HeapCollection): Promise<number> {
    return this.database.write(async () => {
      const isOf = threadId === undefined ? 'thread_id IS NULL' : 'thread_id = :threadId';
      const thread: Parameters = threadId === undefined ? {} : { threadId };
      let count = 0;
      for (const owner of await threadOwners(this.database, isOf, thread, principal)) {
        await lockHeaps(this.database, owner);
        const newest = threadId === undefined ? undefined : await this.#newest(owner, threadId);
        const kept = newest === undefined ? named : [...named, newest.heap_id as string];
        const condition = `${isOf} AND created_at < :before AND NOT (${this.database.dialect.isOneOf('heap_id', ':kept')})`;
        count += await deleteUnlessNeeded(this.database, condition, { ...thread, owner, before, kept: encode(kept) });
      }
      return count;
    });
  }

  async #has(owner: string, heapId: string): Promise<boolean> {
    const sql = 'SELECT 1 AS one FROM heaps WHERE owner = :owner AND heap_id = :heapId';
    return (await this.database.first(sql, { owner, heapId })) !== undefined;
  }

  #newest(owner: string, threadId: string): Promise<Row | undefined> {
    const sql = `SELECT ${INFO} FROM heaps WHERE thread_id = :threadId AND owner = :owner ORDER BY position DESC LIMIT 1`;
    return this.database.first(sql, { owner, threadId });
  }
}

/** Deletes the heaps of a thread within a transaction, except those whose state another thread needs. */
export async function deleteThreadHeaps(database: Database, threadId: string, principal?: string): Promise<void> {
  for (const owner of await threadOwners(database, 'thread_id = :threadId', { threadId }, principal)) {
    await lockHeaps(database, owner);
    await deleteUnlessNeeded(database, 'thread_id = :threadId', { owner, threadId });
    const sql = 'UPDATE heaps SET thread_id = NULL WHERE owner = :owner AND thread_id = :threadId';
    await database.run(sql, { owner, threadId });
  }
}

async function threadOwners(
  database: Database,
  condition: string,
  parameters: Parameters,
  principal: string | undefined,
): Promise<readonly string[]> {
  if (principal !== undefined) return [ownerHash(principal)];
  const rows = await database.all(`SELECT DISTINCT owner FROM heaps WHERE ${condition} ORDER BY owner`, parameters);
  return rows.map(({ owner }) => owner as string);
}

/** Deletes the heaps of an owner that meet the condition, except those whose state a heap that stays needs. */
async function deleteUnlessNeeded(database: Database, condition: string, parameters: Parameters): Promise<number> {
  const rows = await database.all(
    `WITH RECURSIVE needed (heap_id, parent_id, is_delta) AS (
      SELECT heap_id, parent_id, is_delta FROM heaps WHERE owner = :owner AND NOT coalesce(${condition}, FALSE)
      UNION SELECT h.heap_id, h.parent_id, h.is_delta FROM needed
        JOIN heaps h ON h.owner = :owner AND h.heap_id = needed.parent_id WHERE needed.is_delta = 1)
    DELETE FROM heaps WHERE owner = :owner AND ${condition} AND heap_id NOT IN (SELECT heap_id FROM needed)
    RETURNING heap_id`,
    parameters,
  );
  return rows.length;
}

function lockHeaps(database: Database, owner: string): Promise<void> {
  return database.lock(`heaps ${owner}`);
}

function ownerHash(principal: string): string {
  return createHash('sha256').update(JSON.stringify(principal)).digest('hex');
}

function rowHeap(principal: string, row: Row): HeapInfo {
  return {
    heapId: row.heap_id as string,
    principal,
    ...(row.parent_id === null ? {} : { parentId: row.parent_id as string }),
    ...(row.thread_id === null ? {} : { threadId: row.thread_id as string }),
    isDelta: row.is_delta === 1,
    head: row.head as string,
    images: storedJson(row.images as string) as string[],
    bytes: row.bytes as number,
    createdAt: row.created_at as number,
  };
}
