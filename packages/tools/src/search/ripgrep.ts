import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { demandDescriptors } from '../descriptor-room.js';
import { failure, systemCode, throwIfAborted } from '../failure.js';
import { WorkSlices } from '../work-slices.js';

/** Maximum number of bytes of an output line. Longer lines, such as a match inside a minified file, are skipped. */
const MAX_LINE_BYTES = 1024 * 1024;
const MAX_ERROR_BYTES = 8 * 1024;

export interface RipgrepRun {
  /** The start folder of the search. */
  readonly cwd: string;
  /** The arguments after the fixed ones. Patterns follow `-e`, and paths follow `--`. */
  readonly args: readonly string[];
  /** The byte that ends a chunk of output: LF or NUL. */
  readonly separator: '\n' | '\0';
  /**
   * True: ripgrep sorts files by path, on one thread. Otherwise ripgrep uses all threads, and files arrive in any
   * order. The lines of one file are always in order.
   */
  readonly inOrder?: boolean | undefined;
  /** Receives each chunk in order. The answer 'stop' ends the search. */
  readonly onPiece: (piece: string) => Answer | Promise<Answer>;
  readonly signal: AbortSignal | undefined;
}

type Answer = 'stop' | undefined;

export interface RipgrepEnd {
  /** Number of chunks that were too long. */
  readonly passedOver: number;
  /** ripgrep's error output, at most about `MAX_ERROR_BYTES`. */
  readonly errorText: string;
}

/**
 * Runs ripgrep once, without configuration, preprocessor or environment. Ripgrep also applies ignore files outside git
 * repositories. The promise resolves for a search without matches, and rejects with ripgrep's own message for a bad
 * pattern.
 */
export async function runRipgrep(run: RipgrepRun): Promise<RipgrepEnd> {
  throwIfAborted(run.signal);
  const child = startRipgrep(await ripgrepPath(), run);
  const ended = ripgrepEnd(child);
  // Prevents an unhandled rejection if the code below fails first.
  ended.catch(() => undefined);
  const stop = (): void => void child.kill('SIGKILL');
  run.signal?.addEventListener('abort', stop, { once: true });
  if (run.signal?.aborted) stop();
  try {
    const pieces = new Pieces(run.separator === '\n' ? 10 : 0);
    const stopped = await emitPieces(child, pieces, run);
    const { code, errorText } = await ended;
    if (run.signal?.aborted) throw failure('aborted', 'The search was aborted.');
    const isDone = stopped || code === 0 || code === 1 || (code === 2 && pieces.count > 0);
    if (!isDone) throw searchFailure(errorText);
    return { passedOver: pieces.passedOver, errorText };
  } finally {
    run.signal?.removeEventListener('abort', stop);
    stop();
  }
}

type Ripgrep = ChildProcessByStdio<null, Readable, Readable>;

/** Starts ripgrep. Throws a ToolCallError if the system cannot start a process. */
function startRipgrep(program: string, run: RipgrepRun): Ripgrep {
  const args = [
    '--no-config',
    '--no-require-git',
    '--no-ignore-global',
    '--no-messages',
    '--no-mmap',
    ...(run.inOrder ? ['--sort=path'] : []),
    ...run.args,
  ];
  try {
    // defence: ripgrep-descriptor-room
    demandDescriptors();
    return spawn(program, args, { cwd: run.cwd, env: {}, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  } catch (error) {
    throw startFailure(error);
  }
}

/**
 * Resolves after the process has ended. Rejects if the process did not start; in that case its streams may be missing.
 */
function ripgrepEnd(child: Ripgrep): Promise<{ code: number | null; errorText: string }> {
  return new Promise((resolve, reject) => {
    // defence: ripgrep-start-error
    child.on('error', (error) => reject(startFailure(error)));
    const chunks: Buffer[] = [];
    let bytes = 0;
    (child.stderr as Readable | undefined)?.on('data', (chunk: Buffer) => {
      if (bytes < MAX_ERROR_BYTES) chunks.push(chunk);
      bytes += chunk.length;
    });
    child.on('close', (code) => resolve({ code, errorText: Buffer.concat(chunks).toString('utf8').trim() }));
  });
}

/**
 * Passes each chunk to the listener. The process waits while the listener works. Returns whether the listener stopped
 * the search.
 */
async function emitPieces(child: Ripgrep, pieces: Pieces, run: RipgrepRun): Promise<boolean> {
  // A process that did not start has no streams.
  if ((child.stdout as Readable | undefined) === undefined || child.pid === undefined) return false;
  const slices = new WorkSlices({ signal: run.signal });
  for await (const chunk of child.stdout) {
    for (const piece of pieces.cut(chunk as Buffer)) {
      if (slices.isDue(10)) await slices.pass();
      const answer = run.onPiece(piece);
      if ((answer instanceof Promise ? await answer : answer) !== 'stop') continue;
      child.kill('SIGKILL');
      return true;
    }
  }
  return false;
}

function startFailure(error: unknown): Error {
  switch (systemCode(error)) {
    case 'EMFILE':
    case 'ENFILE':
      return failure(
        'io',
        'Too many files are open, so the search program could not be started. Try again with fewer concurrent calls.',
      );
    case 'EAGAIN':
    case 'ENOMEM':
      return failure(
        'io',
        'The system has reached its limit of processes or memory, so the search program could not be started. Try again with fewer concurrent calls.',
      );
    default:
      return failure(
        'unavailable',
        'The search program (ripgrep) could not be started. Install it again: npm install --include=optional @vscode/ripgrep',
      );
  }
}

/** The path of the program in the package @vscode/ripgrep. Throws a ToolCallError if the package is missing. */
export async function ripgrepPath(): Promise<string> {
  try {
    return (await import('@vscode/ripgrep')).rgPath;
  } catch {
    throw failure(
      'unavailable',
      'The search program (ripgrep) is missing for this machine. Install it: npm install --include=optional @vscode/ripgrep',
    );
  }
}

function searchFailure(text: string): Error {
  const said = text.replace(/^rg: /, '').trim();
  if (said === '')
    return failure(
      'io',
      'The search failed: ripgrep could not read one of the searched files or folders. Search a smaller folder.',
    );
  return failure('bad_pattern', `ripgrep rejected the search: ${withAdvice(said)}`);
}

/** Replaces ripgrep's advice about command-line options, which scripts do not have. */
function withAdvice(said: string): string {
  const [cause = said] = said.split(/(?<!\n)\n+Consider enabling/);
  const advice = ADVICE.find(({ about }) => about.test(cause))?.say;
  return `${cause}${advice ?? '\nFor plain text set literal: true.'}`;
}

const ADVICE: readonly { readonly about: RegExp; readonly say: string }[] = [
  { about: /literal .{0,40}not allowed/, say: '\nTo match across lines set multiline: true.' },
  {
    about: /look-around|backreferences/,
    say: '\nMatch more than you need and filter matches[] in the script.',
  },
  { about: /size limit/, say: '\nMake the repetitions smaller.' },
];

/** Splits a byte stream into chunks. */
class Pieces {
  count = 0;
  passedOver = 0;
  readonly #separator: number;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(separator: number) {
    this.#separator = separator;
  }

  /** The chunks that end in this data. */
  cut(chunk: Buffer): string[] {
    const found: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(this.#separator); end !== -1; end = chunk.indexOf(this.#separator, start)) {
      const piece = this.#finish(chunk.subarray(start, end));
      if (piece !== undefined) found.push(piece);
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
    return found;
  }

  #finish(tail: Buffer): string | undefined {
    const bytes = this.#restBytes + tail.length;
    // defence: ripgrep-line-cap
    const piece = bytes > MAX_LINE_BYTES ? undefined : Buffer.concat([...this.#rest, tail]).toString('utf8');
    this.#rest = [];
    this.#restBytes = 0;
    this.count += 1;
    if (piece === undefined) this.passedOver += 1;
    return piece;
  }

  #hold(rest: Buffer): void {
    this.#restBytes += rest.length;
    if (this.#restBytes <= MAX_LINE_BYTES) this.#rest.push(rest);
    else this.#rest = [];
  }
}
