import { createInterface } from 'node:readline/promises';
import { UsageError } from '../usage-error.js';

/**
 * Asks the user at the terminal. Returns true only for `y` and `yes`. Without a terminal, throws a UsageError with
 * `advice`, which says what to do instead.
 */
export async function agrees(question: string, advice: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError(`There is no terminal for the question. ${advice}`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/iu.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
