import type { ServiceStores, Thread as StoredThread, ThreadPage, ThreadQuery } from '@toolscript/core/protocol';
import { dataFolder } from '../configuration/locations.js';
import { currentFolder } from '../configuration/workspace-folder.js';
import { theOne } from '../state/find-script.js';
import type { Environment } from '../terminal/style.js';
import { ownCommand } from '../terminal/own-command.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { allOf } from './history.js';
import { importThreads } from './import-threads.js';
import { PRINCIPAL } from './run-owner.js';
import { ThreadFiles } from './thread-files.js';

/** The user's conversations. */
export class ThreadDatabase {
  readonly stores: ServiceStores;
  readonly #files: ThreadFiles;

  private constructor(stores: ServiceStores, files: ThreadFiles) {
    this.stores = stores;
    this.#files = files;
  }

  /** Imports what earlier versions kept in files. Throws a UsageError where the database cannot be opened. */
  static async open(environment: Environment, warn: (message: string) => void): Promise<ThreadDatabase> {
    // The database's thread cannot start without a current folder.
    currentFolder();
    const { databaseFile, threadsFolder, importedThreadsFolder } = dataFolder(environment);
    const { openStores } = await import('@toolscript/server/stores');
    let importedAt: number | undefined;
    const now = () => importedAt ?? Date.now();
    const stores = await throughStore(openStores(`libsql:${databaseFile}`, { now }));
    const files = new ThreadFiles(threadsFolder, importedThreadsFolder);
    try {
      await throughStore(importThreads(stores, files, { warn, setTime: (time) => (importedAt = time) }));
      importedAt = undefined;
      return new ThreadDatabase(stores, files);
    } catch (error) {
      await stores.close();
      throw error;
    }
  }

  /** The one that changed last comes first. */
  list(query: Pick<ThreadQuery, 'workspace' | 'text'> = {}): Promise<StoredThread[]> {
    const { threads } = this.stores;
    return throughStore(
      allOf<ThreadPage, StoredThread>(
        (after) => threads.list({ principal: PRINCIPAL, ...query, ...after }),
        (page) => page.threads,
      ),
    );
  }

  async has(threadId: string): Promise<boolean> {
    return (await throughStore(this.stores.threads.get(threadId))) !== undefined;
  }

  /** The one with this id, or the only one whose id begins so. Throws a UsageError. */
  async find(text: string): Promise<StoredThread> {
    return theOne(await this.list(), text, ({ threadId }) => threadId, {
      prefix: 'thr_',
      none: `There is no conversation ${visibleLine(text)}. ${ownCommand()} threads lists them.`,
      several: 'Several conversations begin with',
    });
  }

  /** The one of a workspace that changed last. Throws a UsageError. */
  async latest(workspace: string): Promise<StoredThread> {
    const { threads } = await throughStore(this.stores.threads.list({ principal: PRINCIPAL, workspace, limit: 1 }));
    if (threads[0] !== undefined) return threads[0];
    throw new UsageError(`There is no conversation of ${visibleLine(workspace)} to continue. Begin one.`);
  }

  async rename({ threadId }: StoredThread, title: string): Promise<void> {
    await throughStore(this.stores.threads.rename(threadId, title));
  }

  /** With the file that an earlier version kept it in. */
  async delete({ threadId }: StoredThread): Promise<void> {
    this.#files.delete(threadId);
    await throughStore(this.stores.threads.delete(threadId));
  }

  close(): Promise<void> {
    return this.stores.close();
  }
}

/** What the database says of itself names the file, the cause and the fix. */
export async function throughStore<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && error.name === 'StoreUnavailableError') throw new UsageError(visible(error.message));
    throw error;
  }
}
