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
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

const KEY_BYTES = 32;

/** The key that seals suspensions; undefined where there is none yet. Throws a UsageError for one that is not safe to use. */
export function readSuspensionKey(path: string): Uint8Array | undefined {
  const name = visibleLine(path);
  let file: number;
  try {
    // defence: key-no-follow, without it: file = openSync(path, constants.O_RDONLY);
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ELOOP') throw new UsageError(`${name} is a link. Put the key itself there, or remove the link.`);
    throw new UsageError(`${name} cannot be read (${code ?? 'unknown error'}). Give yourself permission.`);
  }
  try {
    const { mode } = fstatSync(file);
    // defence: key-for-user-alone, without it: const isShared = mode < 0;
    const isShared = process.platform !== 'win32' && (mode & 0o077) !== 0;
    if (isShared)
      throw new UsageError(
        `${name} can be opened by others, who could forge what waits for your approval. Remove it; suspended scripts are lost with it. Or, where nobody has read it: chmod 600 ${name}`,
      );
    const key = readFileSync(file);
    // defence: key-length
    if (key.length < KEY_BYTES)
      throw new UsageError(
        `${name} has ${key.length} bytes and needs ${KEY_BYTES}. Put the right key back, or remove it; suspended scripts are lost with it.`,
      );
    return key;
  } finally {
    closeSync(file);
  }
}

/** The same, made where there is none. Of several processes that make one at once, all get the same. */
export function obtainSuspensionKey(path: string): Uint8Array {
  const found = readSuspensionKey(path);
  if (found !== undefined) return found;
  const temporary = `${path}.${randomUUID()}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(temporary, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx', flush: true });
  try {
    // Whole or not at all, and only for the first.
    linkSync(temporary, path);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  } finally {
    unlinkSync(temporary);
  }
  const key = readSuspensionKey(path);
  if (key === undefined) throw new UsageError(`${visibleLine(path)} was removed just now. Start again.`);
  return key;
}
