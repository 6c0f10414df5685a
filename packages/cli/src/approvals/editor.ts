import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../terminal/screen.js';

/** The file descriptors of the terminal, for a program that uses it. */
export interface Descriptors {
  readonly input: number;
  readonly output: number;
}

/**
 * Lets the user edit a text with $VISUAL or $EDITOR, in a file that no other user can read. Throws if the editor fails.
 */
export async function editText(
  text: string,
  { input, output }: Descriptors,
  environment: Environment,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolscript-edit-'));
  try {
    const file = join(folder, 'arguments.json');
    await writeFile(file, text, { mode: 0o600, flag: 'wx' });
    await runEditor(editorCommand(environment), file, [input, output, output]);
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function editorCommand(environment: Environment): string {
  const named = [environment['VISUAL'], environment['EDITOR']].find((name) => name !== undefined && name.trim() !== '');
  return named ?? (process.platform === 'win32' ? 'notepad' : 'vi');
}

/** Starts the editor through a shell, as other programs do, because $VISUAL and $EDITOR may contain options. */
function runEditor(editor: string, file: string, stdio: [number, number, number]): Promise<void> {
  const isWindows = process.platform === 'win32';
  const child = isWindows
    ? spawn(`${editor} "${file}"`, { shell: true, stdio })
    : spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve();
      else
        reject(
          new Error(
            `The editor (${editor}) ended with status ${status ?? 'unknown'}, so its text is not used. Set VISUAL or EDITOR to an editor that works.`,
          ),
        );
    });
  });
}
