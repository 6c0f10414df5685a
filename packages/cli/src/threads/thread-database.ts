import type { EventLog, ServiceStores, Thread as StoredThread } from '@toolscript/core/protocol';
import type { ThreadPage, ThreadQuery } from '@toolscript/core/ports';
import { suspensionSeal } from '@toolscript/core/internal';
import { allPageItems, leaveHeaps, LOCAL_PRINCIPAL } from '@toolscript/service';
import type { OpenDatabase } from '@toolscript/service/stores';
import { dataFolder } from '../configuration/locations.js';
import { currentFolder } from '../configuration/workspace-folder.js';
import { theOne } from '../state/find-script.js';
import type { Environment } from '../terminal/screen.js';
import { ownCommand } from '../terminal/own-command.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** Opens a database in which decisions are authenticated with the user's suspension key. */
export async function openSealedDatabase(url: string, environment: Environment): Promise<OpenDatabase> {
  const { openDatabase } = await import('@toolscript/service/stores');
  const { suspensionKeys } = await import('../state/persistent-state.js');
  return openDatabase(url, {
    seal: suspensionSeal(() => suspensionKeys(dataFolder(environment).keyFile, environment)),
  });
}

/** The user's conversations. */
export class ThreadDatabase {
  readonly stores: ServiceStores;
  /** The live events of runs, for servers that use the same data folder. */
  readonly log: EventLog;
  readonly #database: OpenDatabase;

  private constructor(
    database: OpenDatabase,
    readonly scriptsFolder: string,
  ) {
    this.stores = database.stores;
    this.log = database.log;
    this.#database = database;
  }

  /** Opens the database. Throws a UsageError if it cannot be opened. */
  static async open(environment: Environment): Promise<ThreadDatabase> {
    // The worker thread of the database cannot start without a current folder.
    currentFolder();
    const { databaseFile, scriptsFolder } = dataFolder(environment);
    const database = await throughStore(openSealedDatabase(`libsql:${databaseFile}`, environment));
    return new ThreadDatabase(database, scriptsFolder);
  }

  /** The threads, the most recently changed one first. */
  list(query: Pick<ThreadQuery, 'workspace' | 'text'> = {}): Promise<StoredThread[]> {
    const { threads } = this.stores;
    return throughStore(
      allPageItems<ThreadPage, StoredThread>(
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

  async delete({ threadId }: StoredThread): Promise<void> {
    await throughStore(this.#delete(threadId));
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #delete(threadId: string): Promise<void> {
    const { fileStore } = await import('@toolscript/core');
    const heaps = fileStore(this.scriptsFolder).heaps!;
    await leaveHeaps({ stores: this.stores, heaps }, threadId);
    for (const runId of await this.stores.threads.delete(threadId)) await this.log.delete(runId);
    await heaps.deleteThread(threadId);
  }
}

/**
 * Waits for work on the database. If the database is unavailable, or another process works on the conversation, throws
 * a UsageError with the message, which names the cause and the fix.
 */
export async function throughStore<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    const isExpected = error instanceof Error && ['StoreUnavailableError', 'ThreadHeldError'].includes(error.name);
    if (isExpected) throw new UsageError(visible(error.message));
    throw error;
  }
}
