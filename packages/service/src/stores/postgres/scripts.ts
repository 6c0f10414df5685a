import { randomUUID } from 'node:crypto';
import { checkScriptId } from '@toolscript/core/internal';
import type {
  AppendOptions,
  Claim,
  ClaimStore,
  JournalContent,
  JournalStore,
  ListQuery,
  ScriptPage,
  TakeOptions,
  ClaimedJournal,
} from '@toolscript/core/ports';
import type { HarnessStore } from '@toolscript/core/protocol';
import { PostgresImages } from './images.js';
import type { PostgresDatabase } from './postgres-database.js';
import { appendTo, DEFAULT_MAX_BYTES } from './script-append.js';
import { readClaim, readScriptPage, readScript, takeScript } from './script-rows.js';

export interface PostgresScriptsOptions {
  /** Maximum size of a script's journal and slot. Default 64 MiB. */
  maxScriptBytes?: number | undefined;
}

/**
 * Stores scripts in PostgreSQL. Leases end by the clock of the server, so that the clocks of the processes may differ.
 * Every append is flushed to the disk.
 */
export function postgresScripts(
  database: PostgresDatabase,
  { maxScriptBytes = DEFAULT_MAX_BYTES }: PostgresScriptsOptions = {},
): HarnessStore {
  return {
    claim: new PostgresClaims(database),
    journal: new PostgresJournals(database, maxScriptBytes),
    images: new PostgresImages(database),
    isFlushed: true,
    hasRuns: true,
    probe: async () =>
      void (await database.use((connection) => connection.commit('UPDATE probe SET value = value + 1', {}), {
        isRepeatable: true,
      })),
  };
}

class PostgresClaims implements ClaimStore {
  constructor(readonly database: PostgresDatabase) {}

  async current(scriptId: string): Promise<Claim | undefined> {
    checkScriptId(scriptId);
    return this.database.use((connection) => readClaim(connection, scriptId));
  }

  async take(scriptId: string, fromEpoch: number, options: TakeOptions): Promise<ClaimedJournal | undefined> {
    checkScriptId(scriptId);
    if (!Number.isSafeInteger(fromEpoch + 1) || fromEpoch < 0) return undefined;
    const write = randomUUID();
    return this.database.use((connection) => takeScript(connection, { scriptId, fromEpoch, write }, options), {
      isRepeatable: true,
    });
  }

  async renew(scriptId: string, epoch: number): Promise<boolean> {
    checkScriptId(scriptId);
    const sql = `UPDATE scripts SET lease_expires_at = NOW_MS + lease_ms
      WHERE script_id = :scriptId AND epoch = :epoch RETURNING epoch`;
    return (await this.#change(sql, scriptId, epoch)) > 0;
  }

  async release(scriptId: string, epoch: number): Promise<void> {
    checkScriptId(scriptId);
    const sql = 'UPDATE scripts SET lease_expires_at = 0 WHERE script_id = :scriptId AND epoch = :epoch';
    await this.#change(sql, scriptId, epoch);
  }

  async #change(sql: string, scriptId: string, epoch: number): Promise<number> {
    if (!Number.isSafeInteger(epoch)) return 0;
    return this.database.use((connection) => connection.commit(sql, { scriptId, epoch }), { isRepeatable: true });
  }
}

class PostgresJournals implements JournalStore {
  /**
   * The last append of each claim. The next append waits for it, because appends keep the order of their calls, and
   * fails with it, because a journal has no gaps.
   */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(
    readonly database: PostgresDatabase,
    readonly maxBytes: number,
  ) {}

  async append(scriptId: string, epoch: number, lines: readonly string[], options: AppendOptions = {}): Promise<void> {
    checkScriptId(scriptId);
    const write = appendTo(scriptId, epoch, lines, options, this.maxBytes);
    const claim = `${scriptId} ${epoch}`;
    // defence: appends-fail-in-order
    const append = (this.#last.get(claim) ?? Promise.resolve()).then(() =>
      this.database.use(write, { isRepeatable: true }),
    );
    this.#last.set(claim, append);
    try {
      await append;
    } finally {
      if (this.#last.get(claim) === append) this.#last.delete(claim);
    }
  }

  async read(scriptId: string): Promise<JournalContent | undefined> {
    checkScriptId(scriptId);
    const content = await this.database.use((connection) => connection.read(() => readScript(connection, scriptId)));
    return content.lines.length === 0 ? undefined : content;
  }

  async list(query: ListQuery = {}): Promise<ScriptPage> {
    return this.database.use((connection) => readScriptPage(connection, query));
  }

  async delete(scriptId: string): Promise<void> {
    checkScriptId(scriptId);
    const sql = 'DELETE FROM scripts WHERE script_id = :scriptId';
    await this.database.use((connection) => connection.commit(sql, { scriptId }), { isRepeatable: true });
  }
}
