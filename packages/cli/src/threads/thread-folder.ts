import { mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { theOne } from '../kept/find-script.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';
import { readHead, type ThreadHead } from './thread-file.js';

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

  prepare(): void {
    mkdirSync(this.#path, { recursive: true, mode: 0o700 });
  }

  /** The newest first. */
  list(): ListedThread[] {
    return this.#files()
      .flatMap((path): ListedThread[] => {
        const head = readHead(path);
        return head === undefined ? [] : [{ ...head, path, changedMs: statSync(path).mtimeMs }];
      })
      .toSorted((left, right) => right.changedMs - left.changedMs);
  }

  /** The one with this id, or the only one whose id begins so. Throws a UsageError. */
  find(text: string): ListedThread {
    return theOne(this.list(), text, ({ thread_id: id }) => id, {
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

  delete({ path }: ListedThread): void {
    unlinkSync(path);
  }

  #files(): string[] {
    try {
      return readdirSync(this.#path)
        .filter((name) => name.endsWith(ENDING))
        .map((name) => join(this.#path, name));
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return [];
      throw error;
    }
  }
}
