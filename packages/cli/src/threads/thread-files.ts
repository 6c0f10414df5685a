import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { visibleLine } from '../terminal/untrusted.js';
import { orRefuse, systemCode } from '../usage-error.js';

const ENDING = '.jsonl';

/** A conversation in a file of JSON lines, as earlier versions of Toolscript stored it. */
export interface ThreadFile {
  readonly name: string;
  readonly path: string;
  /** The time of the last write, in ms since the Unix epoch. */
  readonly changedMs: number;
}

/**
 * The conversations that earlier versions of Toolscript stored, and a mark for each file that was imported or is
 * damaged.
 */
export class ThreadFiles {
  readonly #folder: string;
  readonly #marks: string;

  constructor(folder: string, marks: string) {
    this.#folder = folder;
    this.#marks = marks;
  }

  /** The files that are still to be imported, oldest first. Throws a UsageError if the folder cannot be read. */
  unimported(): ThreadFile[] {
    const names = orRefuse(
      () => namesIn(this.#folder).filter((name) => name.endsWith(ENDING)),
      (code) =>
        `Conversations cannot be read from ${visibleLine(this.#folder)} (${code}). Give your user read permission for this folder.`,
    );
    return names
      .flatMap((name): ThreadFile[] => {
        const path = join(this.#folder, name);
        // Another process may remove the file meanwhile.
        const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
        if (changedMs === undefined) return [];
        const file = { name, path, changedMs: Math.round(changedMs) };
        return this.#isMarked(file) ? [] : [file];
      })
      .toSorted((left, right) => left.changedMs - right.changedMs);
  }

  /** Marks the file as imported or damaged. A damaged file is imported again after it has changed. */
  mark({ name, changedMs }: ThreadFile, result: 'imported' | 'damaged'): void {
    orRefuse(
      () => {
        mkdirSync(this.#marks, { recursive: true, mode: 0o700 });
        const text = result === 'damaged' ? damagedMark(changedMs) : 'imported\n';
        writeFileSync(join(this.#marks, name), text, { mode: 0o600, flush: true });
      },
      (code) =>
        `${visibleLine(this.#marks)} cannot be written (${code}). Give your user write permission for this folder.`,
    );
  }

  /** Deletes the file of a conversation. Idempotent. Throws a UsageError if the file cannot be removed. */
  delete(threadId: string): void {
    const path = join(this.#folder, `${threadId}${ENDING}`);
    orRefuse(
      () => rmSync(path, { force: true }),
      (code) => `${visibleLine(path)} cannot be removed (${code}). Make its folder writable.`,
    );
  }

  #isMarked({ name, changedMs }: ThreadFile): boolean {
    try {
      const mark = readFileSync(join(this.#marks, name), 'utf8');
      return !mark.startsWith('damaged') || mark === damagedMark(changedMs);
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
      return false;
    }
  }
}

function damagedMark(changedMs: number): string {
  return `damaged ${changedMs}\n`;
}

/** The names of a folder's entries; empty if the folder does not exist. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}
