import { mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { theOne } from '../kept/find-script.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';
import { lockOf, orRefuse, readHead, readThread, type ThreadHead } from './thread-file.js';
import { ThreadLock } from './thread-lock.js';

const ENDING = '.jsonl';

export interface ListedThread extends ThreadHead {
  readonly path: string;
  /** When it was last written to, in ms since 1970. */
  readonly changedMs: number;
}

/** The person's conversations, one file each. */
export class ThreadFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  pathOf(threadId: string): string {
    return join(this.#path, `${threadId}${ENDING}`);
  }

  /** Throws a UsageError where the system refuses. */
  prepare(): void {
    orRefuse(
      () => mkdirSync(this.#path, { recursive: true, mode: 0o700 }),
      (code) =>
        `Conversations cannot be kept in ${visibleLine(this.#path)} (${code}). Make it a folder that you can write to.`,
    );
  }

  /** The newest first. */
  list(): ListedThread[] {
    return this.#files()
      .flatMap((path): ListedThread[] => {
        const head = readHead(path);
        // It may be forgotten meanwhile.
        const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
        return head === undefined || changedMs === undefined ? [] : [{ ...head, path, changedMs }];
      })
      .toSorted((left, right) => right.changedMs - left.changedMs);
  }

  /** The one with this id, or the only one whose id begins so. Throws a UsageError. */
  find(text: string): ListedThread {
    const threads = this.list();
    const file = this.#files().find((path) => basename(path) === `${text}${ENDING}`);
    // Says why it is not listed.
    if (file !== undefined && !threads.some(({ path }) => path === file)) readThread(file);
    return theOne(threads, text, ({ thread_id: id }) => id, {
      prefix: 'thr_',
      none: `There is no conversation ${visibleLine(text)}. toolscript threads lists them.`,
      several: 'Several conversations begin with',
    });
  }

  /** The one that was written to last, of a workspace. Throws a UsageError. */
  latest(workspace: string): ListedThread {
    const found = this.list().find((thread) => thread.workspace === workspace);
    if (found !== undefined) return found;
    throw new UsageError(`There is no conversation of ${visibleLine(workspace)} to continue. Begin one.`);
  }

  /** Throws a UsageError where another process has it open, or the system refuses. */
  delete({ path }: ListedThread): void {
    orRefuse(
      () => deleteLocked(path),
      (code) => `${visibleLine(path)} cannot be removed (${code}). Make its folder writable.`,
    );
  }

  #files(): string[] {
    return orRefuse(
      () => namesIn(this.#path),
      (code) =>
        `Conversations cannot be read from ${visibleLine(this.#path)} (${code}). Make it a folder that you can read.`,
    )
      .filter((name) => name.endsWith(ENDING))
      .map((name) => join(this.#path, name));
  }
}

/** None where there is no folder. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function deleteLocked(path: string): void {
  const lock = ThreadLock.take(lockOf(path));
  try {
    unlinkSync(path);
  } finally {
    lock.release();
  }
}
