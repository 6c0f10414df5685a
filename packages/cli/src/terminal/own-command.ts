import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { visibleWord } from './untrusted.js';

let knownCommand: string | undefined;

/**
 * The command that starts this program: its name, npx with its name, or node with its file. Printed commands begin with
 * it, so that users can paste them.
 */
export function ownCommand(): string {
  knownCommand ??= startCommand(process.argv[1], process.env);
  return knownCommand;
}

export function startCommand(program: string | undefined, environment: NodeJS.ProcessEnv): string {
  // npx adds its own folders to the PATH of the programs that it starts. The user's shell does not have these folders.
  if (environment['npm_command'] === 'exec') return 'npx toolscript';
  const folders = (environment['PATH'] ?? '').split(delimiter);
  // The `toolscript` in PATH is a link or a package manager's wrapper, so its path differs from that of the program.
  const isInstalled = folders.some((folder) => existsSync(join(folder, 'toolscript')));
  return program === undefined || isInstalled ? 'toolscript' : `node ${shellWord(program)}`;
}

/** The program and the arguments that start this command, for other programs. */
export function ownProgram(): { command: string; args: readonly string[] } {
  const command = ownCommand();
  if (command === 'toolscript') return { command, args: [] };
  if (command.startsWith('npx ')) return { command: 'npx', args: ['-y', 'toolscript'] };
  return { command: process.execPath, args: [resolve(process.argv[1] ?? '')] };
}

/** Quotes a word so that it can be pasted into a shell. Escapes hidden characters. */
export function shellWord(text: string): string {
  const shown = visibleWord(text);
  return /^[\w@%+=:,./-]+$/u.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
}
