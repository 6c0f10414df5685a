import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { constants, devNull } from 'node:os';
import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { failure, systemCode } from '../failure.js';
import { quotePath } from '../files/path-rules.js';
import { fitJson, HeadAndTail } from './output.js';
import { GroupWatcher } from './group-watcher.js';
import { OutputProgress } from './progress.js';

/*
 * One command from start to end.
 *
 * The child leads its own process group, so that its descendants die with it. The child ends in one of three ways: by
 * itself, by its time limit (SIGTERM, then SIGKILL after a grace period), or by an abort (the same with a shorter
 * period). The rest of the group is then killed too: a background program must neither outlive the call nor delay it by
 * keeping a pipe open.
 */

const TIMEOUT_GRACE_MS = 500;
const ABORT_GRACE_MS = 150;
/** Maximum wait for output after the child has ended, in ms. */
const DRAIN_MS = 200;

export interface Command {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Maximum bytes that are kept of each stream, and of the output of both streams. */
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal | undefined;
  /** Data for the program's descriptors from 3 on; none by default. */
  readonly inputs?: readonly Uint8Array[] | undefined;
  /** Descriptors of this process that the program would inherit and must not have; none by default. */
  readonly withheld?: readonly number[] | undefined;
  /** Receives the latest line of output, at most twice a second. */
  readonly progress?: ((line: string) => void) | undefined;
  /** Receives all output, both streams in the order of arrival. */
  readonly output?: ((text: string) => void) | undefined;
}

export interface CommandResult {
  /** The program's exit status; 128 plus the signal's number if a signal ended the program. */
  exitCode: number;
  stdout: string;
  stderr: string;
  /** The output of both streams in the order of arrival. */
  aggregatedOutput: string;
  timedOut: boolean;
  /** Whether some output was omitted. */
  truncated: boolean;
  durationMs: number;
}

/** The running process groups. This process kills them when it exits, and a watcher does if this process is killed. */
export class ProcessGroups {
  readonly #leaders = new Set<number>();
  readonly #watcher = new GroupWatcher();
  readonly #killAll = (): void => {
    for (const leader of this.#leaders) killGroup(leader, 'SIGKILL');
  };

  /** Call this method before a command starts. */
  prepare(): void {
    this.#watcher.prepare();
  }

  add(leader: number): void {
    if (this.#leaders.size === 0) process.on('exit', this.#killAll);
    this.#leaders.add(leader);
    this.#watcher.add(leader);
  }

  delete(leader: number): void {
    this.#leaders.delete(leader);
    this.#watcher.delete(leader);
    if (this.#leaders.size === 0) process.off('exit', this.#killAll);
  }
}

/** Resolves for any exit status. Throws a ToolCallError if the program did not start or was aborted. */
export function runCommand(command: Command, groups: ProcessGroups): Promise<CommandResult> {
  return new CommandRun(command, groups).result;
}

class CommandRun {
  readonly result: Promise<CommandResult>;
  readonly #command: Command;
  readonly #groups: ProcessGroups;
  readonly #child: ChildProcess;
  readonly #startedAt = performance.now();
  readonly #stdout: HeadAndTail;
  readonly #stderr: HeadAndTail;
  readonly #both: HeadAndTail;
  readonly #progress: OutputProgress | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();
  #timedOut = false;
  #isAborted = false;
  #isSettled = false;
  #exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  #resolve!: (result: CommandResult) => void;
  #reject!: (error: Error) => void;

  constructor(command: Command, groups: ProcessGroups) {
    this.#command = command;
    this.#groups = groups;
    this.#stdout = new HeadAndTail(command.maxOutputBytes);
    this.#stderr = new HeadAndTail(command.maxOutputBytes);
    this.#both = new HeadAndTail(command.maxOutputBytes);
    this.#progress = command.progress === undefined ? undefined : new OutputProgress(command.progress);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    groups.prepare();
    this.#child = this.#start();
    this.#watch();
  }

  #start(): ChildProcess {
    const { argv, cwd, env, inputs = [], withheld = [] } = this.#command;
    const nothing = withheld.length === 0 ? undefined : openSync(devNull, 'r');
    try {
      return spawn(argv[0]!, argv.slice(1), {
        cwd,
        env: { ...env },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe', ...inputs.map(() => 'pipe' as const), ...rest(inputs, withheld, nothing)],
        windowsHide: true,
      });
    } catch (error) {
      throw startFailure(argv[0]!, error);
    } finally {
      if (nothing !== undefined) closeSync(nothing);
    }
  }

  #watch(): void {
    const { argv, signal, timeoutMs } = this.#command;
    // defence: a-program-that-does-not-start-is-a-failure
    this.#child.on('error', (error) => this.#fail(startFailure(argv[0]!, error)));
    this.#child.on('exit', (code, killedBy) => {
      this.#exit = { code, signal: killedBy };
      this.#later(DRAIN_MS, () => this.#finish());
    });
    this.#child.on('close', () => this.#finish());
    if (this.#child.pid === undefined) return;
    this.#groups.add(this.#child.pid);
    this.#feed();
    this.#collect(this.#child.stdout!, this.#stdout);
    this.#collect(this.#child.stderr!, this.#stderr);
    this.#later(timeoutMs, () => this.#stop('timeout'));
    if (signal?.aborted) this.#onAbort();
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  readonly #onAbort = (): void => this.#stop('abort');

  #feed(): void {
    for (const [index, input] of (this.#command.inputs ?? []).entries()) {
      const descriptor = this.#child.stdio[index + 3] as Writable | null | undefined;
      // A program may end before it has read all of its input.
      descriptor?.on('error', () => undefined).end(input);
    }
  }

  #collect(stream: NodeJS.ReadableStream, kept: HeadAndTail): void {
    // Decodes each stream before the merge, so that a character split over two chunks stays whole.
    const decoder = new StringDecoder('utf8');
    stream.on('data', (chunk: Buffer) => {
      kept.push(chunk);
      this.#progress?.push(chunk);
      this.#mix(decoder.write(chunk));
    });
    stream.on('end', () => this.#mix(decoder.end()));
    stream.on('error', () => undefined);
  }

  #mix(text: string): void {
    this.#both.push(Buffer.from(text));
    if (!this.#isSettled) this.#command.output?.(text);
  }

  #stop(reason: 'timeout' | 'abort'): void {
    if (this.#isSettled || this.#exit) return;
    if (reason === 'timeout' && !this.#isAborted) this.#timedOut = true;
    if (reason === 'abort') this.#isAborted = true;
    const leader = this.#child.pid!;
    killGroup(leader, 'SIGTERM');
    this.#later(reason === 'timeout' ? TIMEOUT_GRACE_MS : ABORT_GRACE_MS, () => {
      killGroup(leader, 'SIGKILL');
      // A child that survives SIGKILL (it hangs in the kernel) must not block the call.
      this.#later(DRAIN_MS, () => this.#finish());
    });
  }

  #finish(): void {
    if (this.#isSettled) return;
    this.#end();
    if (this.#isAborted)
      return this.#reject(
        failure('aborted', 'The command was aborted; it and all processes that it had started were killed.'),
      );
    const limit = this.#command.maxOutputBytes;
    const [stdout, stderr, both] = [this.#stdout, this.#stderr, this.#both].map((stream) =>
      boundedOutput(stream, limit),
    );
    this.#resolve({
      exitCode: exitCode(this.#exit),
      stdout: stdout!.text,
      stderr: stderr!.text,
      aggregatedOutput: both!.text,
      timedOut: this.#timedOut,
      truncated: stdout!.truncated || stderr!.truncated || both!.truncated,
      durationMs: Math.round(performance.now() - this.#startedAt),
    });
  }

  #fail(error: Error): void {
    if (this.#isSettled) return;
    this.#end();
    this.#reject(error);
  }

  /** Ends the call: kills the rest of its process group, and stops its timers and streams. */
  #end(): void {
    this.#isSettled = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#progress?.finish();
    this.#command.signal?.removeEventListener('abort', this.#onAbort);
    const leader = this.#child.pid;
    if (leader === undefined) return;
    killGroup(leader, 'SIGKILL');
    this.#groups.delete(leader);
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  #later(delayMs: number, action: () => void): void {
    this.#timers.add(setTimeout(action, delayMs));
  }
}

/** The descriptors after those of the inputs: `nothing` in place of each one that is withheld. */
function rest(
  inputs: readonly unknown[],
  withheld: readonly number[],
  nothing: number | undefined,
): ('ignore' | number)[] {
  if (nothing === undefined) return [];
  const first = 3 + inputs.length;
  const numbers = Array.from({ length: Math.max(0, Math.max(...withheld) + 1 - first) }, (_, index) => first + index);
  // defence: inherited-descriptors-are-withheld
  return numbers.map((number) => (withheld.includes(number) ? nothing : 'ignore'));
}

function boundedOutput(stream: HeadAndTail, limit: number): { text: string; truncated: boolean } {
  const { text, truncated } = stream.finish();
  const fitted = fitJson(text, Math.ceil(limit * 1.2) + 100);
  return { text: fitted.text, truncated: truncated || fitted.truncated };
}

function exitCode(exit: { code: number | null; signal: NodeJS.Signals | null } | undefined): number {
  if (typeof exit?.code === 'number') return exit.code;
  return 128 + (exit?.signal ? constants.signals[exit.signal] : constants.signals.SIGKILL);
}

function killGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === 'win32' ? leader : -leader, signal);
  } catch {
    // The group has already ended.
  }
}

/** Explains why a program did not start. */
export function startFailure(program: string, error: unknown): Error {
  const name = quotePath(program);
  const data = { program };
  switch (systemCode(error)) {
    case 'ENOENT':
      return failure(
        'not_started',
        program.includes('/')
          ? `There is no program at ${name}. Check the path.`
          : `There is no program ${name} on PATH. Install it, or give its path.`,
        data,
      );
    case 'EACCES':
    case 'EPERM':
      return failure(
        'not_started',
        `${name} is not executable. Check that it is a program with execute permission.`,
        data,
      );
    case 'ENOEXEC':
      return failure(
        'not_started',
        `${name} is not a program that this system can run. Install a version for this system.`,
        data,
      );
    case 'E2BIG':
      return failure(
        'not_started',
        'The arguments and the environment are too long for the system; pass large data in a file.',
        data,
      );
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return failure(
        'not_started',
        `${name} could not be started: the system has reached its limit of processes, open files or memory. Stop some programs, or raise the limits with ulimit -n and ulimit -u.`,
        data,
      );
    default:
      return failure(
        'not_started',
        `${name} could not be started (${systemCode(error) ?? 'unknown error'}). Check the program.`,
        data,
      );
  }
}
