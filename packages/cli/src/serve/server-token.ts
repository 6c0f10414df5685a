import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

const MIN_LENGTH = 16;

/**
 * The token of this machine's user. If `TOOLSCRIPT_TOKEN` is unset or empty, the token is created at its first use, and
 * stored in a file that no other user can read.
 */
export function obtainServerToken(path: string, environment: Environment): string {
  const named = environment['TOOLSCRIPT_TOKEN'];
  if (named !== undefined && named !== '') return checked(named, 'TOOLSCRIPT_TOKEN');
  const found = readToken(path);
  if (found !== undefined) return found;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const token = randomBytes(24).toString('base64url');
  try {
    writeFileSync(path, `${token}\n`, { mode: 0o600, flag: 'wx', flush: true });
    chmodSync(path, 0o600);
    return token;
  } catch (error) {
    // EEXIST means that another server has created the file meanwhile.
    if (systemCode(error) === 'EEXIST') return readToken(path) ?? token;
    throw new UsageError(
      `${visibleLine(path)} cannot be written (${systemCode(error) ?? 'unknown error'}). Give your user write permission, or set TOOLSCRIPT_TOKEN.`,
    );
  }
}

function readToken(path: string): string | undefined {
  const name = visibleLine(path);
  let file: number;
  try {
    // defence: token-no-follow, without it: file = openSync(path, constants.O_RDONLY);
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(
      `${name} cannot be read (${code ?? 'unknown error'}). Remove it: the server then creates a new token.`,
    );
  }
  try {
    // defence: token-for-user-alone, without it: const isShared = fstatSync(file).mode < 0;
    const isShared = process.platform !== 'win32' && (fstatSync(file).mode & 0o077) !== 0;
    if (isShared)
      throw new UsageError(`${name} is readable by other users. Remove it: the server then creates a new token.`);
    return checked(readFileSync(file, 'utf8').trim(), name);
  } finally {
    closeSync(file);
  }
}

function checked(token: string, where: string): string {
  if (token.length >= MIN_LENGTH && /^[\w.~+/=-]+$/u.test(token)) return token;
  throw new UsageError(
    `${where} contains no valid token. Use at least ${MIN_LENGTH} letters, digits or any of . _ ~ + / = -`,
  );
}
