import { INVISIBLE_CHARACTERS } from '@toolscript/core/protocol';
import { failure } from '../failure.js';

/** Names that may not be written, in any spelling, at any depth of a workspace. */
interface ProtectedName {
  /** A file or a folder with everything in it; may hold one `/`. Lower case. */
  readonly name: string;
  readonly reason: string;
}

const STARTUP = 'a shell or session runs it when it starts';
const AGENT = 'it configures coding agents';
const EDITOR = 'an editor runs tasks and programs that it names';
const INSTALLER = 'it tells a package manager what to run and where to fetch from';
const CREDENTIALS = 'it decides who may log in, or with which keys';

/**
 * What would give the writer more power than the workspace itself: files that some other program executes or
 * obeys without anybody asking for it. Ordinary content (sources, `.github`, `AGENTS.md`, `.env`) is not here.
 */
export const PROTECTED_NAMES: readonly ProtectedName[] = [
  { name: '.git', reason: 'git runs its hooks and obeys its configuration' },
  { name: '.gitconfig', reason: 'git runs programs that it names' },
  { name: '.config/git', reason: 'git runs programs that it names' },
  { name: '.bashrc', reason: STARTUP },
  { name: '.bash_profile', reason: STARTUP },
  { name: '.bash_login', reason: STARTUP },
  { name: '.bash_logout', reason: STARTUP },
  { name: '.bash_aliases', reason: STARTUP },
  { name: '.profile', reason: STARTUP },
  { name: '.zshrc', reason: STARTUP },
  { name: '.zshenv', reason: STARTUP },
  { name: '.zprofile', reason: STARTUP },
  { name: '.zlogin', reason: STARTUP },
  { name: '.zlogout', reason: STARTUP },
  { name: '.cshrc', reason: STARTUP },
  { name: '.tcshrc', reason: STARTUP },
  { name: '.kshrc', reason: STARTUP },
  { name: '.login', reason: STARTUP },
  { name: '.xinitrc', reason: STARTUP },
  { name: '.xprofile', reason: STARTUP },
  { name: '.xsession', reason: STARTUP },
  { name: '.pam_environment', reason: STARTUP },
  { name: '.envrc', reason: STARTUP },
  { name: '.config/fish', reason: STARTUP },
  { name: '.config/autostart', reason: STARTUP },
  { name: '.config/systemd', reason: STARTUP },
  { name: 'toolscript.config.json', reason: AGENT },
  { name: '.toolscript', reason: AGENT },
  { name: '.config/toolscript', reason: AGENT },
  { name: '.claude', reason: AGENT },
  { name: '.codex', reason: AGENT },
  { name: '.agents', reason: AGENT },
  { name: '.cursor', reason: AGENT },
  { name: '.gemini', reason: AGENT },
  { name: '.mcp.json', reason: AGENT },
  { name: '.vscode', reason: EDITOR },
  { name: '.idea', reason: EDITOR },
  { name: '.npmrc', reason: INSTALLER },
  { name: '.yarnrc', reason: INSTALLER },
  { name: '.yarnrc.yml', reason: INSTALLER },
  { name: '.pypirc', reason: INSTALLER },
  { name: '.ssh', reason: CREDENTIALS },
  { name: '.gnupg', reason: CREDENTIALS },
  { name: '.netrc', reason: CREDENTIALS },
];

/** Folders where package managers hard-link files on purpose; reading there is allowed. */
const HARD_LINKED_FOLDERS = new Set(['node_modules', 'site-packages']);

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
/** Names in one path; each costs system calls. */
const MAX_NAMES = 128;

/** Refuses what no file system call should see. */
export function checkSpelling(path: string): void {
  if (path.length === 0) throw failure('bad_path', 'The path is empty.');
  if (path.includes('\0')) throw failure('bad_path', `The path ${quotePath(path)} holds a NUL byte.`);
  if (/\p{Surrogate}/u.test(path))
    throw failure('bad_path', `The path ${quotePath(path)} holds half a character (a lone surrogate).`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw failure('bad_path', `The path ${quotePath(path)} is longer than ${MAX_PATH_BYTES} bytes.`);
  }
  const names = path.split(/[/\\]/).filter((name) => name !== '' && name !== '.' && name !== '..');
  if (names.length > MAX_NAMES)
    throw failure('bad_path', `The path ${quotePath(path)} has more than ${MAX_NAMES} names.`);
  for (const name of names) checkName(path, name);
}

function checkName(path: string, name: string): void {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw failure('bad_path', `A name in the path ${quotePath(path)} is longer than ${MAX_NAME_BYTES} bytes.`);
  }
}

/**
 * The rule that a path breaks, or undefined. `relativePath` is inside its root, with `/` between names.
 * Names are compared as the most forgiving file system would: case, width, invisible characters, trailing
 * dots and spaces, streams (`.git::$DATA`) and short names (`GIT~1`) make no difference.
 */
export function protectedName(relativePath: string, unprotected: ReadonlySet<string>): ProtectedName | undefined {
  const path = `/${relativePath.split('/').map(foldName).join('/')}/`;
  return PROTECTED_NAMES.find(({ name }) => !unprotected.has(name) && path.includes(`/${name}/`));
}

export function mayBeHardLinked(relativePath: string): boolean {
  return relativePath.split('/').some((name) => HARD_LINKED_FOLDERS.has(name));
}

function foldName(name: string): string {
  const folded = name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}|\p{Cc}/gu, '')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '');
  return folded === 'git~1' ? '.git' : folded;
}

/** A path as messages show it: quoted, one line, control characters visible, at most about 200 characters. */
export function quotePath(path: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 120)}…${path.slice(-60)}` : path;
  return `'${visible(shown)}'`;
}

// defence: names-show-invisible, without it: const INVISIBLE = new RegExp(String.raw`\p{Cc}|(?![^])[${INVISIBLE_CHARACTERS}]`, 'gu');
const INVISIBLE = new RegExp(`[${INVISIBLE_CHARACTERS}]`, 'gu');

/** Invisible characters written as escapes, so that a name cannot pose as another. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}
