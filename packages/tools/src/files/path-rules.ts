import { INVISIBLE_CHARACTERS } from '@toolscript/core/internal';
import { failure } from '../failure.js';

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
/** Maximum number of names in one path, because each name costs system calls. */
const MAX_NAMES = 128;

/** Rejects paths that must not reach a file system call. */
export function checkSpelling(path: string): void {
  if (path.length === 0) throw failure('bad_path', 'The path is empty. Name a file or a folder.');
  if (path.includes('\0')) throw failure('bad_path', `The path ${quotePath(path)} contains a NUL byte. Remove it.`);
  if (/\p{Surrogate}/u.test(path))
    throw failure('bad_path', `The path ${quotePath(path)} contains half a character (a lone surrogate). Remove it.`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw failure(
      'bad_path',
      `The path ${quotePath(path)} is longer than ${MAX_PATH_BYTES} bytes. Use a shorter path.`,
    );
  }
  const names = path.split(/[/\\]/).filter((name) => name !== '' && name !== '.' && name !== '..');
  if (names.length > MAX_NAMES)
    throw failure(
      'bad_path',
      `The path ${quotePath(path)} has more than ${MAX_NAMES} parts. Use a path with fewer parts.`,
    );
  for (const name of names) checkName(path, name);
}

function checkName(path: string, name: string): void {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw failure(
      'bad_path',
      `A name in the path ${quotePath(path)} is longer than ${MAX_NAME_BYTES} bytes. Use a shorter name.`,
    );
  }
}

/**
 * A path in the form that messages show: quoted, one line, control characters visible, at most about 200 characters.
 */
export function quotePath(path: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 120)}…${path.slice(-60)}` : path;
  return `'${visible(shown)}'`;
}

// defence: names-show-invisible
const INVISIBLE = new RegExp(`[${INVISIBLE_CHARACTERS}]`, 'gu');

/** Escapes invisible characters, so that a name cannot imitate another one. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}
