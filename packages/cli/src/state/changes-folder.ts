import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isScriptId, type HarnessStore } from '@toolscript/core/protocol';

/** `changes/<script>`: the old files of the changes that a script made, for undo. The file tools write it. */
export class ChangesFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Idempotent. */
  async delete(scriptId: string): Promise<void> {
    if (isScriptId(scriptId)) await rm(join(this.#path, scriptId), { recursive: true, force: true });
  }

  /** Deletes the old files of scripts that another process, on this machine or another one, has deleted. */
  async deleteOrphans({ journal }: Pick<HarnessStore, 'journal'>): Promise<void> {
    const names = await readdir(this.#path).catch(() => [] as string[]);
    for (const name of names) if (isScriptId(name) && (await journal.read(name)) === undefined) await this.delete(name);
  }
}
