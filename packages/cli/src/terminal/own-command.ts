import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { shellWord } from './shell-word.js';

let known: string | undefined;

/** How this program was called, so that the commands it prints can be pasted: by its name, by npx, or by its file. */
export function ownCommand(): string {
  known ??= commandOf(process.argv[1], process.env);
  return known;
}

export function commandOf(program: string | undefined, environment: NodeJS.ProcessEnv): string {
  // npx puts its own folders on the path of what it runs; the person's shell does not have them.
  if (environment['npm_command'] === 'exec') return 'npx toolscript';
  const folders = (environment['PATH'] ?? '').split(delimiter);
  // A link, or what a package manager puts in its place.
  const isInstalled = folders.some((folder) => existsSync(join(folder, 'toolscript')));
  return program === undefined || isInstalled ? 'toolscript' : `node ${shellWord(program)}`;
}
