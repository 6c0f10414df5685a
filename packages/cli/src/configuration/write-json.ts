import { createHash } from 'node:crypto';
import { mkdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writePrivateFile } from '@toolscript/core';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

/*
 * Stores facts in the user's own folder: one file for each fact, named by its hash. No operation reads, changes and
 * rewrites a file, so concurrent processes lose nothing, and equal facts share one file.
 */

/** The name of the file for a key. */
export function fileNameOf(fact: string): string {
  return createHash('sha256').update(fact).digest('hex').slice(0, 32);
}

/** Writes the complete file or none, with access for the user alone. Throws a UsageError. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writePrivateFile(path, `${JSON.stringify(value, undefined, 2)}\n`);
  } catch (error) {
    throw new UsageError(
      `${visibleLine(path)} cannot be written (${systemCode(error) ?? 'unknown error'}). Make its folder writable, or set XDG_CONFIG_HOME to one that is.`,
    );
  }
}

/** Deletes the file. Returns whether there was one. Throws a UsageError. */
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
