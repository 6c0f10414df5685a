import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

/*
 * How the user's own folder changes: one file for each fact, its name a hash of the fact. Nothing is read, changed and
 * written back, so processes that write at once lose nothing, and the same fact twice is one file.
 */

/** The name of a fact's file. */
export function fileNameOf(fact: string): string {
  return createHash('sha256').update(fact).digest('hex').slice(0, 32);
}

/** Writes the file for the user alone, whole or not at all. Throws a UsageError. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(temporary, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw new UsageError(
      `${visibleLine(path)} cannot be written (${systemCode(error) ?? 'unknown error'}). Make its folder writable, or set XDG_CONFIG_HOME to one that is.`,
    );
  }
}

/** Answers whether there was one. Throws a UsageError. */
export async function deleteFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new UsageError(
      `${visibleLine(path)} cannot be removed (${code ?? 'unknown error'}). Make its folder writable.`,
    );
  }
}
