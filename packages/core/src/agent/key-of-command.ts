import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The maximum time in ms that the program may run. Its user may have to enter a password. */
const TIMEOUT_MS = 60_000;

/**
 * Returns a function that reads a key from the output of a program when the key is first needed. The program runs
 * without a shell. Failures are not cached: the next request starts the program again.
 */
export function keyOfCommand([program, ...rest]: readonly string[]): () => Promise<string> {
  let key: Promise<string> | undefined;
  return () => {
    key ??= commandOutput(program!, rest).catch((error: unknown) => {
      key = undefined;
      throw error;
    });
    return key;
  };
}

async function commandOutput(program: string, rest: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, [...rest], { timeout: TIMEOUT_MS, encoding: 'utf8' });
    const key = stdout.trim();
    if (key !== '') return key;
  } catch (error) {
    const { code, killed } = error as { code?: unknown; killed?: boolean | undefined };
    const why = killed === true ? `took longer than ${TIMEOUT_MS / 1000} s` : `failed (${String(code)})`;
    throw new Error(
      `The program ${program} of apiKeyCommand ${why}. Run the program in a terminal, and correct apiKeyCommand if necessary.`,
      { cause: error },
    );
  }
  throw new Error(
    `The program ${program} of apiKeyCommand wrote nothing. The program must write the key to its standard output.`,
  );
}
