import type {
  EventLog,
  ServiceStores,
  Thread as StoredThread,
  ThreadPage,
  ThreadQuery,
} from '@toolscript/core/protocol';
import { allOf, LOCAL_PRINCIPAL } from '@toolscript/server/runs';
import type { OpenDatabase } from '@toolscript/server/stores';
import { dataFolder } from '../configuration/locations.js';
import { currentFolder } from '../configuration/workspace-folder.js';
import { theOne } from '../state/find-script.js';
import type { Environment } from '../terminal/screen.js';
import { ownCommand } from '../terminal/own-command.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { importThreads } from './import-threads.js';
import { ThreadFiles } from './thread-files.js';

/** The user's conversations. */
export class ThreadDatabase {
  readonly stores: ServiceStores;
  /** The live events of runs, for servers that use the same data folder. */
  readonly log: EventLog;
  readonly #database: OpenDatabase;
  readonly #files: ThreadFiles;

  private constructor(database: OpenDatabase, files: ThreadFiles) {
    this.stores = database.stores;
    this.log = database.log;
    this.#database = database;
    this.#files = files;
  }

  /**
   * Opens the database, and imports the conversations that earlier versions of Toolscript stored in files. Throws a
   * UsageError if the database cannot be opened.
   */
  static async open(environment: Environment, warn: (message: string) => void): Promise<ThreadDatabase> {
    // The worker thread of the database cannot start without a current folder.
    currentFolder();
    const { databaseFile, threadsFolder, importedThreadsFolder } = dataFolder(environment);
    const { openDatabase } = await import('@toolscript/server/stores');
    let importedAt: number | undefined;
    const now = () => importedAt ?? Date.now();
    const database = await throughStore(openDatabase(`libsql:${databaseFile}`, { now }));
    const files = new ThreadFiles(threadsFolder, importedThreadsFolder);
    try {
      await throughStore(importThreads(database.stores, files, { warn, setTime: (time) => (importedAt = time) }));
      importedAt = undefined;
      return new ThreadDatabase(database, files);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  /** The threads, the most recently changed one first. */
  list(query: Pick<ThreadQuery, 'workspace' | 'text'> = {}): Promise<StoredThread[]> {
    const { threads } = this.stores;
    return throughStore(
      allOf<ThreadPage, StoredThread>(
        (after) => threads.list({ principal: LOCAL_PRINCIPAL, ...query, ...after }),
        (page) => page.threads,
      ),
    );
  }

  async has(threadId: string): Promise<boolean> {
    return (await throughStore(this.stores.threads.get(threadId))) !== undefined;
  }

  /**
   * The thread whose id is this text, or the only one whose id begins with it. Throws a UsageError if no thread or
   * several threads match.
   */
  async find(text: string): Promise<StoredThread> {
    return theOne(await this.list(), text, ({ threadId }) => threadId, {
      prefix: 'thr_',
      none: `There is no conversation ${visibleLine(text)}. To list the conversations: ${ownCommand()} threads`,
      several: 'Several conversations begin with',
    });
  }

  /** The most recently changed thread of a workspace. Throws a UsageError if there is none. */
  async latest(workspace: string): Promise<StoredThread> {
    const { threads } = await throughStore(
      this.stores.threads.list({ principal: LOCAL_PRINCIPAL, workspace, limit: 1 }),
    );
    if (threads[0] !== undefined) return threads[0];
    throw new UsageError(
      `There is no conversation about ${visibleLine(workspace)} to continue. Start one: ${ownCommand()} "PROMPT"`,
    );
  }

  async rename({ threadId }: StoredThread, title: string): Promise<void> {
    await throughStore(this.stores.threads.rename(threadId, title));
  }

  /** Deletes a thread, and the file in which an earlier version of Toolscript stored it. */
  async delete({ threadId }: StoredThread): Promise<void> {
    this.#files.delete(threadId);
    await throughStore(this.#delete(threadId));
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #delete(threadId: string): Promise<void> {
    for (const runId of await this.stores.threads.delete(threadId)) await this.log.delete(runId);
  }
}

/**
 * Waits for work on the database. If the database is unavailable, throws a UsageError with the database's message,
 * which names the cause and the fix.
 */
export async function throughStore<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && error.name === 'StoreUnavailableError') throw new UsageError(visible(error.message));
    throw error;
  }
}
