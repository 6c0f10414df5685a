import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { visibleWord } from './untrusted.js';

let known: string | undefined;

/**
 * The command that started this program, so that printed commands can be pasted: by its name, by npx, or by its file.
 */
export function ownCommand(): string {
  known ??= commandOf(process.argv[1], process.env);
  return known;
}

export function commandOf(program: string | undefined, environment: NodeJS.ProcessEnv): string {
  // npx adds its own folders to the PATH of its programs; the user's shell does not have them.
  if (environment['npm_command'] === 'exec') return 'npx toolscript';
  const folders = (environment['PATH'] ?? '').split(delimiter);
  // The entry is a link, or a wrapper of a package manager.
  const isInstalled = folders.some((folder) => existsSync(join(folder, 'toolscript')));
  return program === undefined || isInstalled ? 'toolscript' : `node ${shellWord(program)}`;
}

/** A word that can be pasted into a shell; hidden characters are visible. */
export function shellWord(text: string): string {
  const shown = visibleWord(text);
  return /^[\w@%+=:,./-]+$/u.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
}
