import { realpathSync } from 'node:fs';
import type { Harness } from '@toolscript/core';
import { demandOwnFoldersOutside } from '../configuration/workspace-folder.js';
import type { Settings } from '../configuration/settings.js';
import { visibleLine } from '../terminal/untrusted.js';
import { isUsageError } from '../usage-error.js';

export interface ClientFoldersOptions {
  readonly warn: (message: string) => void;
  /** Called after the tools for scripts have changed. */
  readonly onTools: () => void;
}

/** Moves the tools for work on a folder to the folders that a client has open. */
export class ClientFolders {
  readonly #harness: Harness;
  readonly #settings: Settings;
  readonly #options: ClientFoldersOptions;
  #last: Promise<void> = Promise.resolve();

  constructor(harness: Harness, settings: Settings, options: ClientFoldersOptions) {
    this.#harness = harness;
    this.#settings = settings;
    this.#options = options;
  }

  /** Moves the tools to the folders of a client. If no folder is usable, the tools keep their current folders. */
  use(folders: readonly string[]): void {
    const usable = folders.flatMap((folder) => this.#usable(folder) ?? []);
    if (usable.length > 0) this.#last = this.#last.then(() => this.#move(usable));
  }

  async #move(roots: readonly string[]): Promise<void> {
    const { codingTools } = await import('@toolscript/tools');
    const { cwd: _cwd, exec, workspaceTools } = this.#settings;
    const tools = codingTools({ roots: [...roots], exec }).filter(
      ({ name }) => workspaceTools === undefined || workspaceTools.includes(name),
    );
    const names = new Set(tools.map(({ name }) => name));
    const before = this.#harness.tools().filter(({ name }) => names.has(name));
    this.#harness.tools.replace(
      before.map(({ name }) => name),
      tools,
    );
    this.#options.onTools();
  }

  /**
   * The real path of a folder. Warns and returns undefined if the folder cannot be opened, or if it contains the user's
   * own files.
   */
  #usable(folder: string): string | undefined {
    try {
      const real = realpathSync(folder);
      // defence: client-folders-hold-no-own-files
      demandOwnFoldersOutside(real, process.env);
      return real;
    } catch (error) {
      const why = isUsageError(error) ? error.message : 'it cannot be opened. Open another folder in the client.';
      this.#options.warn(`The client's folder ${visibleLine(folder)} is ignored: ${why}`);
      return undefined;
    }
  }
}
