import { fork, type ChildProcess } from 'node:child_process';
import { homedir } from 'node:os';
import { failure } from '../../failure.js';
import { startFailure } from '../process-tree.js';
import { inheritedDescriptors } from './inherited-descriptors.js';
import type { Aftermath, SandboxAnswer, SandboxRequest, UncheckedPlace } from './messages.js';
import type { SandboxedDisk } from './policy.js';
import { findSandbox, refusedBySystem, type SandboxPrograms, type SandboxRefusal } from './requirements.js';

type Waiting = (answer: SandboxAnswer) => void;

/** Environment variables that the sandbox's host process inherits, such as the addresses of the network proxy. */
const PASSED_ON = [
  'HOME',
  'LANG',
  'TMPDIR',
  'USER',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
];

export interface SandboxOptions {
  /** Folders that commands can write to. No program of the sandbox is loaded from them. */
  readonly roots: readonly string[];
  readonly allowedHosts: readonly string[];
}

/** A command to start inside the sandbox. Call `finish` after the command has ended. */
export interface SandboxedCommand {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Data for the command's descriptors from 3 on. */
  readonly inputs: readonly Uint8Array[];
  /** Descriptors of this process that the command must not inherit. */
  readonly withheld: readonly number[];
  /**
   * Moves away the files that the command created or changed and that other programs would execute or obey.
   */
  readonly finish: () => Promise<Aftermath>;
}

/** Why a command cannot be started: what it could change there would stay unknown. */
export interface UncheckedWorkspace {
  readonly unchecked: readonly UncheckedPlace[];
}

/**
 * The sandbox of one set of tools. Its host process starts with the first command, does not keep this process alive,
 * and ends with this process. Its errors are ToolCallErrors that name the obstacle.
 */
export class Sandbox {
  readonly #options: SandboxOptions;
  #host: Promise<SandboxHost> | undefined;

  constructor(options: SandboxOptions) {
    this.#options = options;
  }

  /** Prepares a command for the sandbox. `script` is a quoted line of shell code. */
  async wrap(script: string, disk: SandboxedDisk): Promise<SandboxedCommand | UncheckedWorkspace> {
    const host = await this.#startedHost();
    let number = 0;
    const answer = await host.ask((id) => ({ id: (number = id), kind: 'wrap', command: script, disk }));
    if (!answer.ok && answer.isTooLong)
      throw failure(
        'not_started',
        'The arguments and the environment are too long for the system; pass large data in a file.',
      );
    if (!answer.ok) throw refusalError(refusedBySystem(answer.reason));
    if (answer.wrapped === undefined) return { unchecked: answer.unchecked ?? [] };
    const { line, inputs } = answer.wrapped;
    // Programs outside the sandbox get only the trusted PATH. A preloaded library or a PATH of the caller would take
    // effect before the sandbox exists.
    return {
      argv: ['/bin/sh', '-c', `exec ${line}`],
      // defence: caller-environment-stays-inside
      environment: { PATH: host.path },
      inputs: inputs.map((input) => Buffer.from(input, 'base64')),
      withheld: host.inherited,
      finish: () => finish(host, number),
    };
  }

  /** The obstacle to the sandbox; undefined if the sandbox works. */
  async refusal(): Promise<SandboxRefusal | undefined> {
    try {
      await this.#startedHost();
      return undefined;
    } catch (error) {
      return (
        (error as { data?: { refusal?: SandboxRefusal | undefined } | undefined }).data?.refusal ??
        refusedBySystem(String(error))
      );
    }
  }

  /** Ends the host process. */
  async close(): Promise<void> {
    const host = await this.#host?.catch(() => undefined);
    host?.close();
  }

  #startedHost(): Promise<SandboxHost> {
    this.#host ??= this.#start();
    return this.#host;
  }

  async #start(): Promise<SandboxHost> {
    try {
      const programs = findSandbox(this.#options.roots);
      if ('reason' in programs) throw refusalError(programs);
      const inherited = await inheritedDescriptors();
      const host = new SandboxHost(programs, inherited, () => (this.#host = undefined));
      const answer = await host.ask((id) => ({
        id,
        kind: 'start',
        programs,
        allowedHosts: this.#options.allowedHosts,
      }));
      if (answer.ok) return host;
      host.close();
      if (host.startError !== undefined) throw startFailure(process.execPath, host.startError);
      throw refusalError(refusedBySystem(answer.reason));
    } catch (error) {
      // The next command tries again, because a user may have installed the missing part by then.
      this.#host = undefined;
      throw error;
    }
  }
}

/** The client of the sandbox's host process. Sends requests to the process, and matches the responses by number. */
class SandboxHost {
  readonly path: string;
  readonly inherited: readonly number[];
  /** The reason why the process could not be started. */
  startError: Error | undefined;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #requestCount = 0;

  constructor(programs: SandboxPrograms, inherited: readonly number[], onEnd: () => void) {
    this.path = programs.path;
    this.inherited = inherited;
    this.#process = fork(new URL('./sandbox-host.js', import.meta.url), [], {
      env: { ...passedOn(), PATH: programs.path },
      execArgv: [],
      // The current folder of this process may have been removed.
      cwd: '/',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#process.unref();
    this.#process.channel?.unref();
    this.#process.on('message', (answer: SandboxAnswer) => this.#settle(answer));
    const end = (error?: unknown): void => {
      if (error instanceof Error) this.startError = error;
      onEnd();
      for (const id of this.#waiting.keys()) this.#settle(endedAnswer(id));
    };
    // defence: a-host-that-does-not-start-is-a-refusal
    this.#process.on('error', end);
    this.#process.on('exit', () => end());
    // The channel closes first, and then nothing else would keep this process alive for those who wait.
    this.#process.on('disconnect', () => end());
  }

  ask(request: (id: number) => SandboxRequest): Promise<SandboxAnswer> {
    const id = (this.#requestCount += 1);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      // A process that failed to start receives nothing; its error event follows soon.
      // defence: no-question-to-a-host-that-did-not-start
      if (this.#process.pid === undefined) return;
      // defence: no-question-to-a-host-that-ended
      if (!this.#process.connected) return this.#settle(endedAnswer(id));
      // A pending response keeps this process alive.
      this.#process.channel?.ref();
      this.#process.send(request(id), (error) => {
        if (error !== null) this.#settle({ id, ok: false, reason: error.message, isTooLong: false });
      });
    });
  }

  close(): void {
    if (this.#process.connected) this.#process.disconnect();
  }

  #settle(answer: SandboxAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#process.channel?.unref();
    waiting?.(answer);
  }
}

async function finish(host: SandboxHost, wrap: number): Promise<Aftermath> {
  const answer = await host.ask((id) => ({ id, kind: 'finish', wrap }));
  if (answer.ok && answer.aftermath !== undefined) return answer.aftermath;
  throw failure(
    'unavailable',
    `The command ran, but Toolscript could not check whether it changed files that other programs run (${answer.ok ? 'no answer' : answer.reason}). Inspect the workspace before you use it.`,
  );
}

function homeFolder(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

function endedAnswer(id: number): SandboxAnswer {
  return { id, ok: false, reason: 'the process of the sandbox ended', isTooLong: false };
}

function passedOn(): Record<string, string> {
  const names = PASSED_ON.filter((name) => process.env[name] !== undefined);
  const passed = Object.fromEntries(names.map((name) => [name, process.env[name] as string]));
  // Without HOME, the sandbox's package asks the system, which may not know the user.
  // defence: a-home-for-users-without-one
  return { HOME: homeFolder() ?? '/nonexistent', ...passed };
}

function refusalError({ reason, fix }: SandboxRefusal): Error {
  return failure('unavailable', `${reason} The command was not run. ${fix}`, { refusal: { reason, fix } });
}
