import { randomBytes } from 'node:crypto';
import { createPrivateFile, readPrivateFile } from '@toolscript/core/internal';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

const MIN_LENGTH = 16;

/**
 * The token of this machine's user. If `TOOLSCRIPT_TOKEN` is unset or empty, the token is created at its first use, and
 * stored in a file that no other user can read.
 */
export function obtainServerToken(path: string, environment: Environment): string {
  const named = namedToken(environment);
  if (named !== undefined) return checkedToken(named, 'TOOLSCRIPT_TOKEN');
  const found = readToken(path);
  if (found !== undefined) return found;
  const token = randomBytes(24).toString('base64url');
  try {
    createPrivateFile(path, `${token}\n`);
  } catch (error) {
    throw new UsageError(
      `${visibleLine(path)} cannot be written (${systemCode(error) ?? 'unknown error'}). Give your user write permission, or set TOOLSCRIPT_TOKEN.`,
    );
  }
  // Another server may have created the file meanwhile.
  return readToken(path) ?? token;
}

/** Describes where the user finds the token. */
export function whereTokenIs(path: string, environment: Environment): string {
  return namedToken(environment) === undefined ? `in ${visibleLine(path)}` : 'the value of TOOLSCRIPT_TOKEN';
}

function namedToken(environment: Environment): string | undefined {
  const named = environment['TOOLSCRIPT_TOKEN'];
  return named === '' ? undefined : named;
}

function readToken(path: string): string | undefined {
  const name = visibleLine(path);
  const file = readPrivateFile(path);
  if (file === undefined) return undefined;
  if ('bytes' in file) return checkedToken(file.bytes.toString('utf8').trim(), name);
  const problem = file.problem === 'shared' ? 'is readable by other users' : `cannot be read (${file.code})`;
  throw new UsageError(`${name} ${problem}. Remove it: the server then creates a new token.`);
}

function checkedToken(token: string, where: string): string {
  if (token.length >= MIN_LENGTH && /^[\w.~+/=-]+$/u.test(token)) return token;
  throw new UsageError(
    `${where} contains no valid token. Use at least ${MIN_LENGTH} letters, digits or any of . _ ~ + / = -`,
  );
}
