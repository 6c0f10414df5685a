import { DECISION_GUARD_MS } from '@toolscript/core/internal';
import { CTRL_C } from './question.js';
import type { QuestionTerminal } from './question-terminal.js';

export interface GuardedKeys {
  /** Writes the prompt. `hasDropped`: whether keys were dropped before. */
  readonly prompt: (hasDropped: boolean) => void;
  /** Takes keys, as for `QuestionTerminal.read`. Before the prompt, it takes only Ctrl-C and the end of the terminal. */
  readonly take: (keys: string | undefined) => boolean;
}

/**
 * Reads the answer to a question whose text has just been written. Keys that were typed before the user had read the
 * text never answer it:
 *
 *   settling ──no key for DECISION_GUARD_MS──▶ asking (the prompt is written, and keys are answers)
 *     ▲   │
 *     └───┘ a key is dropped, and the time begins again
 *
 * Returns a function that ends the settling.
 */
export function readAfterGuard(terminal: QuestionTerminal, { prompt, take }: GuardedKeys): () => void {
  let timer: NodeJS.Timeout | undefined;
  let lastInput: NodeJS.Immediate | undefined;
  let hasDropped = false;
  const stop = () => {
    clearTimeout(timer);
    clearImmediate(lastInput);
  };
  const ask = () => {
    terminal.read(take);
    prompt(hasDropped);
  };
  const askAfterInput = () => {
    // Keys that were typed while the event loop was busy arrive after the timer and before the immediate.
    // defence: keys-typed-while-busy-are-dropped
    lastInput = setImmediate(ask);
  };
  const settle = () => {
    stop();
    // defence: typed-ahead-keys-dropped
    timer = setTimeout(askAfterInput, DECISION_GUARD_MS);
  };
  terminal.read((keys) => {
    if (keys === undefined || keys.includes(CTRL_C)) {
      stop();
      return take(keys);
    }
    hasDropped = true;
    // defence: each-dropped-key-restarts-the-guard
    settle();
    return true;
  });
  settle();
  return stop;
}
