import { UsageError } from '../usage-error.js';
import { readAfterGuard } from './guarded-keys.js';
import { openQuestionTerminal } from './question-terminal.js';
import { readAnswer } from './question.js';

/**
 * Asks the user at the terminal. Returns true only for the key `y`. Without a terminal, throws a UsageError with
 * `advice`, which says what to do instead.
 */
export async function agrees(question: string, advice: string): Promise<boolean> {
  const terminal = process.stdin.isTTY ? openQuestionTerminal({ stdinIsTaken: false, stdoutIsTaken: true }) : undefined;
  if (terminal === undefined) throw new UsageError(`There is no terminal for the question. ${advice}`);
  try {
    return await new Promise<boolean>((resolve) => {
      readAfterGuard(terminal, {
        prompt: () => terminal.write(`${question} [y/N] `),
        take: (keys) => {
          const answer = keys === undefined ? 'no' : readAnswer(keys);
          if (answer === undefined) return true;
          terminal.write(answer === 'yes' ? 'yes\n' : 'no\n');
          resolve(answer === 'yes');
          return false;
        },
      });
    });
  } finally {
    terminal.close();
  }
}
