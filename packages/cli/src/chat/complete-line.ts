import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { commandNames } from './commands-in-chat.js';
import type { OpenChat } from './open-chat.js';

/** Completes the name of a command, or of a file of the workspace after `@`. */
export function completeLine(
  line: string,
  { prompts, settings }: Pick<OpenChat, 'prompts' | 'settings'>,
): [string[], string] {
  if (/^\/[^\s/]*$/u.test(line)) {
    const names = [...commandNames(), ...prompts.map(({ name }) => name)].map((name) => `/${name} `);
    return [names.filter((name) => name.startsWith(line)), line];
  }
  const [, typed] = /(?:^|\s)@([^\s@]*)$/u.exec(line) ?? [];
  return typed === undefined ? [[], line] : [pathsWith(typed, settings.cwd).map((path) => `@${path}`), `@${typed}`];
}

/** The files and folders whose path in the workspace begins with the text. */
function pathsWith(typed: string, workspace: string): string[] {
  const folder = typed.slice(0, typed.lastIndexOf('/') + 1);
  const start = typed.slice(folder.length);
  if (folder.startsWith('/') || folder.split('/').includes('..')) return [];
  try {
    return readdirSync(join(workspace, folder), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(start) && (start.startsWith('.') || !name.startsWith('.')))
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ' '}`);
  } catch {
    return [];
  }
}
