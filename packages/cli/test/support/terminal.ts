import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cleanEnvironment, PROGRAM, start } from './program.js';

/** `script` of util-linux gives a program a terminal of its own; elsewhere it takes other options. */
export const hasTerminal =
  process.platform === 'linux' &&
  spawnSync('script', ['-qec', 'true', '/dev/null'], { env: cleanEnvironment() }).status === 0;

/** The prompt at the end of every question. */
export const PROMPT = 'Allow it?';

/** Presses each key when new text on the screen matches. Returns all text of the screen. */
export async function atTerminal(
  command: string,
  presses: readonly (readonly [wait: string, keys: string])[],
  env: Record<string, string> = {},
) {
  const child = start('script', ['-qec', command, '/dev/null'], {
    keepStdinOpen: true,
    env: { TERM: 'xterm', SHELL: '/bin/sh', ...env },
  });
  return drive(child, presses);
}

function drive(
  child: ReturnType<typeof start>,
  presses: readonly (readonly [string, string])[],
): Promise<{ status: number | null; shown: string }> {
  const waiting = [...presses];
  let shown = '';
  let from = 0;
  const press = () => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const at = shown.indexOf(next[0], from);
      if (at === -1) return;
      from = at + next[0].length;
      child.stdin.write(next[1]);
      waiting.shift();
    }
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    press();
  });
  // Keys without a cue are typed ahead.
  press();
  return new Promise((resolve) => {
    child.on('close', (status) => {
      expect(waiting, shown).toEqual([]);
      resolve({ status, shown });
    });
  });
}

export function answerFile(folder: string, source: string): string {
  const path = join(folder, 'answer.md');
  writeFileSync(path, `Text before.\n<tool-calls>\n${source}\n</tool-calls>\nText after.\n`);
  return path;
}

/** The command line that runs an answer with this script in it. */
export function command(folder: string, source: string, flags = ''): string {
  return `${process.execPath} ${PROGRAM} run ${answerFile(folder, source)} --cwd ${folder} ${flags}`;
}
