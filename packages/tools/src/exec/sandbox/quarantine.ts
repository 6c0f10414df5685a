import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, lstatSync, mkdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemCode } from '../../failure.js';
import { addOwnRights } from './folder-reader.js';
import { systemPath } from './system-path.js';

/** Maximum characters of an entry's own name in its new name, which may have 255 bytes. */
const MAX_NAME = 60;
/** Time limit of a move to another file system, in ms. */
const COPY_TIMEOUT_MS = 60_000;
/** Lists the former place of each entry, for the user. */
const ORIGINS = 'origins.jsonl';

/**
 * A folder outside of the workspace for entries that other programs would execute or obey. An entry is moved as one
 * unit, whatever it contains, and gets a name that no program obeys.
 */
export class Quarantine {
  readonly #folder: string | undefined;

  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** Moves an entry. Returns its new name; undefined if it could not be moved. */
  take(path: string, reason: string): string | undefined {
    if (this.#folder === undefined) return undefined;
    const name = `${randomBytes(6).toString('hex')}-${basename(path).slice(0, MAX_NAME)}`;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const origin = { at: new Date().toISOString(), name, path, reason };
      appendFileSync(join(this.#folder, ORIGINS), `${JSON.stringify(origin)}\n`, { mode: 0o600 });
      move(path, join(this.#folder, name));
      return name;
    } catch {
      return undefined;
    }
  }
}

function move(from: string, to: string): void {
  try {
    rename(from, to);
  } catch (error) {
    // defence: quarantine-on-another-file-system
    if (systemCode(error) !== 'EXDEV' || !copyAndRemove(from, to)) throw error;
  }
}

function rename(from: string, to: string): void {
  try {
    renameSync(systemPath(from), to);
  } catch (error) {
    if (systemCode(error) === 'EXDEV') throw error;
    // A folder gets a new parent only if it is writable itself.
    // defence: quarantine-in-closed-folders
    for (const folder of [dirname(from), from]) addOwnRights(folder);
    renameSync(systemPath(from), to);
  }
}

/** `mv` also copies links, special files and paths that are too long for this process. */
function copyAndRemove(from: string, to: string): boolean {
  const { status } = spawnSync('mv', ['-f', '--', from, to], { stdio: 'ignore', timeout: COPY_TIMEOUT_MS });
  return status === 0 && lstatSync(from, { throwIfNoEntry: false }) === undefined;
}
