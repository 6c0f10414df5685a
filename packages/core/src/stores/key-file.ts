import { randomBytes, randomUUID } from 'node:crypto';
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
import { dirname } from 'node:path';
import { ToolscriptUsageError } from '../protocol/index.js';

const KEY_BYTES = 32;

export interface KeyFileOptions {
  /** The path in messages. Default: the path itself. */
  readonly name?: string;
}

/** The key in a file; undefined if there is no file. Throws a `ToolscriptUsageError` for an unusable or unsafe file. */
export function readKeyFile(path: string, { name = path }: KeyFileOptions = {}): Uint8Array | undefined {
  let file: number;
  try {
    // defence: key-no-follow, without it: file = openSync(path, constants.O_RDONLY);
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ELOOP')
      throw new ToolscriptUsageError(`${name} is a link. Replace it with the key file itself, or remove it.`);
    throw new ToolscriptUsageError(
      `${name} cannot be read (${code ?? 'unknown error'}). Make the file readable for your user: chmod 600 ${name}`,
    );
  }
  try {
    const { mode } = fstatSync(file);
    // defence: key-for-user-alone, without it: const isShared = mode < 0;
    const isShared = process.platform !== 'win32' && (mode & 0o077) !== 0;
    if (isShared)
      throw new ToolscriptUsageError(
        `${name} is accessible to other users, who could forge your pending approvals. If no other user has read it, run: chmod 600 ${name}. Otherwise delete it: a new key replaces it, and scripts suspended with the old key cannot be resumed.`,
      );
    const key = readFileSync(file);
    // defence: key-length
    if (key.length < KEY_BYTES)
      throw new ToolscriptUsageError(
        `${name} has ${key.length} bytes, and a key has at least ${KEY_BYTES}. Restore it from a backup, or delete it: a new key replaces it, and scripts suspended with the old key cannot be resumed.`,
      );
    return key;
  } finally {
    closeSync(file);
  }
}

/**
 * Reads a key that several processes share, such as for `suspensionKey`, from a file. Creates the file if it is
 * missing, with access for its owner only. Processes that create it at the same time all get the same key.
 */
export function obtainKeyFile(path: string, options: KeyFileOptions = {}): Uint8Array {
  const found = readKeyFile(path, options);
  if (found !== undefined) return found;
  const temporary = `${path}.${randomUUID()}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(temporary, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx', flush: true });
  try {
    // Creates the complete file or none, and only if it does not exist.
    linkSync(temporary, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    unlinkSync(temporary);
  }
  const key = readKeyFile(path, options);
  if (key === undefined)
    throw new ToolscriptUsageError(`${options.name ?? path} was deleted while it was created. Start Toolscript again.`);
  return key;
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}
