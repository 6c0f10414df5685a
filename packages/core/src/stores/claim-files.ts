import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { StaleEpochError, type Claim } from '../protocol/index.js';
import { isScriptId } from './names.js';
import { isAlive, ownIdentity, parseIdentity, type ProcessIdentity } from './process-identity.js';
import { hasCode, namesIn, openForReading, syncFolder, type StoreFolder } from './store-folder.js';

/**
 * `claims/<script>/<epoch>`: who took the epoch. The name is taken by link(2), which succeeds once; an epoch's file
 * stays until the script is forgotten, so that a later epoch is seen by looking for the next number.
 * `<epoch>.released` beside it: the holder let go.
 */
export class ClaimFiles {
  readonly #folder: StoreFolder;
  #own: ProcessIdentity | undefined;

  constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  /** 0 where there is no claim. */
  newestEpoch(scriptId: string): number {
    const epochs = namesIn(this.#path(scriptId)).filter((name) => /^[1-9]\d{0,15}$/u.test(name));
    return epochs.reduce((newest, name) => Math.max(newest, Number(name)), 0);
  }

  async claim(scriptId: string, epoch: number): Promise<Claim> {
    return { epoch, isHeld: await this.#isHeld(scriptId, epoch) };
  }

  /** False where somebody else has it. Later epochs than the first survive a power cut: the journal names them. */
  async take(scriptId: string, epoch: number): Promise<boolean> {
    this.#own ??= ownIdentity();
    this.#folder.makeFolder('claims', scriptId);
    try {
      if (!this.#folder.place(this.#path(scriptId, `${epoch}`), JSON.stringify(this.#own))) return false;
      if (epoch > 1) await this.#sync(scriptId);
      return true;
    } catch (error) {
      // The script was forgotten in between.
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
  }

  release(scriptId: string, epoch: number): void {
    if (this.newestEpoch(scriptId) !== epoch) return;
    try {
      this.#folder.place(this.#path(scriptId, `${epoch}.released`), '');
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  }

  /** Cheap: it comes before every append. */
  demandCurrent(scriptId: string, epoch: number): void {
    const isCurrent = existsSync(this.#path(scriptId, `${epoch}`)) && !existsSync(this.#path(scriptId, `${epoch + 1}`));
    if (!isCurrent) throw new StaleEpochError(`Epoch ${epoch} of ${scriptId} is not the current one`);
  }

  scriptIds(): readonly string[] {
    return namesIn(this.#folder.path('claims')).filter(isScriptId);
  }

  /** When the script was last taken or released, in ms since 1970; undefined where it never was. */
  changedAtMs(scriptId: string): number | undefined {
    return statSync(this.#path(scriptId), { throwIfNoEntry: false })?.mtimeMs;
  }

  /** All its epochs at once: a holder finds either its own or none. */
  forget(scriptId: string): void {
    if (!existsSync(this.#path(scriptId))) return;
    const partial = this.#folder.partialPath();
    try {
      renameSync(this.#path(scriptId), partial);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
    rmSync(partial, { recursive: true, force: true });
  }

  async #isHeld(scriptId: string, epoch: number): Promise<boolean> {
    if (existsSync(this.#path(scriptId, `${epoch}.released`))) return false;
    const file = await openForReading(this.#path(scriptId, `${epoch}`));
    if (file === undefined) return false;
    try {
      const holder = parseIdentity(await file.readFile('utf8'));
      this.#own ??= ownIdentity();
      return holder !== undefined && isAlive(holder, this.#own);
    } finally {
      await file.close();
    }
  }

  async #sync(scriptId: string): Promise<void> {
    await syncFolder(this.#path(scriptId));
    await syncFolder(this.#folder.path('claims'));
  }

  #path(scriptId: string, ...names: string[]): string {
    return this.#folder.path('claims', scriptId, ...names);
  }
}
