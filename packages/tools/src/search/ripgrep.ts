import { spawn } from 'node:child_process';
import { failure, throwIfAborted } from '../failure.js';

/** Longer output lines (a match inside a minified file) are passed over. */
const MAX_LINE_BYTES = 1024 * 1024;
const MAX_ERROR_BYTES = 8 * 1024;

export interface RipgrepRun {
  /** Start folder of the search. */
  readonly cwd: string;
  /** Arguments after the fixed ones. Patterns come after `-e`, paths after `--`. */
  readonly args: readonly string[];
  /** What ends a piece of output: a line end or NUL. */
  readonly separator: '\n' | '\0';
  /** Sorted by path, on one thread; otherwise on all of them, in any order. A file's lines are always in order. */
  readonly inOrder?: boolean;
  /** Told each piece in order; returning 'stop' ends the search. */
  readonly onPiece: (piece: string) => 'stop' | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface RipgrepEnd {
  /** Pieces that were too long to be looked at. */
  readonly passedOver: number;
  /** What ripgrep had to say about files that it could not read. */
  readonly complaints: string;
}

/**
 * Runs ripgrep once. It reads no configuration, runs no preprocessor, gets no environment, and obeys ignore
 * files outside of git repositories too. Finding nothing is no failure; a bad pattern is, in ripgrep's own words.
 */
export async function runRipgrep(run: RipgrepRun): Promise<RipgrepEnd> {
  throwIfAborted(run.signal);
  const program = await ripgrepPath();
  return new Promise((resolve, reject) => {
    const args = [
      '--no-config',
      '--no-require-git',
      '--no-ignore-global',
      '--no-messages',
      '--no-mmap',
      ...(run.inOrder ? ['--sort=path'] : []),
      ...run.args,
    ];
    const child = spawn(program, args, { cwd: run.cwd, env: {}, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    const pieces = new Pieces(run.separator === '\n' ? 10 : 0, run.onPiece);
    const complaints: Buffer[] = [];
    let complaintBytes = 0;
    let stopped = false;
    const stop = (): void => {
      stopped = true;
      child.kill('SIGKILL');
    };
    run.signal?.addEventListener('abort', stop, { once: true });

    child.stdout.on('data', (chunk: Buffer) => {
      if (!stopped && pieces.push(chunk) === 'stop') stop();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (complaintBytes < MAX_ERROR_BYTES) complaints.push(chunk);
      complaintBytes += chunk.length;
    });
    child.on('error', () => {
      run.signal?.removeEventListener('abort', stop);
      reject(
        failure(
          'unavailable',
          'The search program (ripgrep) could not be started; install the package @vscode/ripgrep again.',
        ),
      );
    });
    child.on('close', (code) => {
      run.signal?.removeEventListener('abort', stop);
      const text = Buffer.concat(complaints).toString('utf8').trim();
      if (run.signal?.aborted) reject(failure('aborted', 'The search was aborted.'));
      else if (stopped || code === 0 || code === 1) resolve({ passedOver: pieces.passedOver, complaints: text });
      else if (code === 2 && pieces.count > 0) resolve({ passedOver: pieces.passedOver, complaints: text });
      else reject(searchFailure(text));
    });
  });
}

/** The program that the package @vscode/ripgrep brings. Throws a ToolCallError where it is missing. */
export async function ripgrepPath(): Promise<string> {
  try {
    return (await import('@vscode/ripgrep')).rgPath;
  } catch {
    throw failure(
      'unavailable',
      'The search program (ripgrep) is not there for this machine; install the package @vscode/ripgrep with its optional parts.',
    );
  }
}

function searchFailure(text: string): Error {
  const said = text.replace(/^rg: /, '').trim();
  if (said === '') return failure('io', 'The search failed: a file or folder in it could not be read.');
  return failure('bad_pattern', `The search was refused: ${withAdvice(said)}`);
}

/** Ripgrep names command-line options that a script does not have; what a script can do is said instead. */
function withAdvice(said: string): string {
  const [cause = said] = said.split(/\n+Consider enabling/);
  const advice = ADVICE.find(({ about }) => about.test(cause))?.say;
  return `${cause}${advice ?? '\nFor plain text set literal: true.'}`;
}

const ADVICE: readonly { readonly about: RegExp; readonly say: string }[] = [
  { about: /literal .*not allowed/, say: '\nTo match across lines set multiline: true.' },
  {
    about: /look-around|backreferences/,
    say: '\nMatch more than you need and filter matches[] in the script.',
  },
  { about: /size limit/, say: '\nMake the repetitions smaller.' },
];

/** Cuts a byte stream into pieces. */
class Pieces {
  count = 0;
  passedOver = 0;
  readonly #separator: number;
  readonly #onPiece: (piece: string) => 'stop' | undefined;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(separator: number, onPiece: (piece: string) => 'stop' | undefined) {
    this.#separator = separator;
    this.#onPiece = onPiece;
  }

  push(chunk: Buffer): 'stop' | undefined {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(this.#separator, start);
      if (end === -1) break;
      if (this.#finish(chunk.subarray(start, end)) === 'stop') return 'stop';
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
    return undefined;
  }

  #finish(tail: Buffer): 'stop' | undefined {
    const bytes = this.#restBytes + tail.length;
    const piece = bytes > MAX_LINE_BYTES ? undefined : Buffer.concat([...this.#rest, tail]).toString('utf8');
    this.#rest = [];
    this.#restBytes = 0;
    this.count += 1;
    if (piece !== undefined) return this.#onPiece(piece);
    this.passedOver += 1;
    return undefined;
  }

  #hold(rest: Buffer): void {
    this.#restBytes += rest.length;
    if (this.#restBytes <= MAX_LINE_BYTES) this.#rest.push(rest);
    else this.#rest = [];
  }
}
