import { setTimeout as sleep } from 'node:timers/promises';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { readWhole, sourceFor, stdinBringsText, type TextSource } from './source.js';

/** The maximum length of a prompt with its context, in bytes: about 250 000 tokens. */
const MAX_PROMPT_BYTES = 1024 * 1024;

/**
 * The time in ms after which a notice says that Toolscript waits for stdin: a program that starts Toolscript may leave
 * stdin open.
 */
const PATIENCE_MS = 3_000;

/** The parts of a prompt: the words of the command line, and stdin, which is the prompt or the context of the words. */
export interface PromptInput {
  /** The words of the command line; undefined if stdin is the prompt, or if the user types prompts. */
  readonly said: string | undefined;
  /** Stdin; undefined if the words are the whole prompt, or if the user types prompts. */
  readonly source: TextSource | undefined;
}

/** `-` before or after the other words means stdin. Throws a UsageError if there is neither a prompt nor a terminal. */
export function promptInput(words: readonly string[]): PromptInput {
  const { isNamed, rest } = withoutDash(words);
  const said = rest.length === 0 ? undefined : rest.join(' ');
  if (isNamed || stdinBringsText()) return { said, source: sourceFor('-', 'chat') };
  if (said !== undefined || (process.stdin.isTTY && process.stdout.isTTY)) return { said, source: undefined };
  throw new UsageError('There is no prompt, and a conversation needs a terminal. Write a prompt: toolscript "PROMPT".');
}

function withoutDash(words: readonly string[]): { isNamed: boolean; rest: readonly string[] } {
  if (words.at(-1) === '-') return { isNamed: true, rest: words.slice(0, -1) };
  if (words[0] === '-') return { isNamed: true, rest: words.slice(1) };
  return { isNamed: false, rest: words };
}

/** The whole prompt; undefined if the user types prompts. Throws UsageErrors. */
export async function readPrompt(
  { said, source }: PromptInput,
  notice: (message: string) => void,
): Promise<string | undefined> {
  if (said?.trim() === '') throw new UsageError('The prompt is empty. Write one: toolscript "PROMPT".');
  if (source === undefined) return said;
  const piped = await readPipedPrompt(source, said === undefined ? undefined : notice);
  if (said !== undefined) return piped === '' ? said : `${said}\n\n<stdin>\n${piped}\n</stdin>`;
  if (piped === '') throw new UsageError('The prompt is empty: stdin has no text. Write one: toolscript "PROMPT".');
  return piped;
}

/** Calls `notice` if reading takes long, because the user may not know that the program reads stdin. */
async function readPipedPrompt(source: TextSource, notice: ((message: string) => void) | undefined): Promise<string> {
  const done = new AbortController();
  const patience = sleep(PATIENCE_MS, undefined, { signal: done.signal, ref: false });
  patience.then(
    () => notice?.('Waiting for the end of stdin, which is added to the prompt. To omit it, write: < /dev/null'),
    () => {},
  );
  try {
    const text = await readWhole(source, MAX_PROMPT_BYTES);
    return text.replace(/^\uFEFF/u, '').trim();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(
      `${visibleLine(source.name)} is larger than ${MAX_PROMPT_BYTES / 1024 / 1024} MiB, which is too long for a prompt. Save it as a file in the workspace, and name the file in the prompt.`,
    );
  } finally {
    done.abort();
  }
}
