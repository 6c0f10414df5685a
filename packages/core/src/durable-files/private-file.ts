import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/*
 * Files for their owner alone (0600), in folders for their owner alone (0700). A reader sees a complete file or none.
 */

/** Maximum bytes of a file that `readPrivateFile` reads. */
const MAX_BYTES = 65_536;

/** `problem`: why the file must not be used. `code`: the system's code, such as `EACCES`, or another word. */
export type PrivateContent =
  | { readonly bytes: Buffer }
  | { readonly problem: 'link' | 'shared' | 'unreadable'; readonly code: string };

/**
 * Reads a file of secrets; undefined if there is none. Does not follow a link, and refuses a file that other users can
 * access, because one of them could have read or written the secret.
 */
export function readPrivateFile(path: string): PrivateContent | undefined {
  let file: number;
  try {
    // defence: private-files-no-follow
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return { problem: code === 'ELOOP' ? 'link' : 'unreadable', code };
  }
  try {
    const stat = fstatSync(file);
    // defence: private-files-for-user-alone
    const isShared = process.platform !== 'win32' && (stat.mode & 0o077) !== 0;
    if (isShared) return { problem: 'shared', code: 'shared' };
    if (!stat.isFile()) return { problem: 'unreadable', code: 'not a file' };
    if (stat.size > MAX_BYTES) return { problem: 'unreadable', code: 'too large' };
    return { bytes: readFileSync(file) };
  } finally {
    closeSync(file);
  }
}

/** Writes the complete file or none. A link at this path is replaced and not followed. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const temporary = temporaryBeside(path);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** Creates the complete file or none. An existing file stays as it is. */
export function createPrivateFile(path: string, content: string | Uint8Array): void {
  const temporary = temporaryBeside(path);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(temporary, content, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error;
  } finally {
    unlinkSync(temporary);
  }
}

function temporaryBeside(path: string): string {
  return join(dirname(path), `.toolscript-${randomUUID()}`);
}

function systemErrorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}
