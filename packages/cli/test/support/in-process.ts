import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { Readable } from 'node:stream';
import { runProgram } from '#cli/program.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { cleanEnvironment, emptyFolder, PROGRAM, type Finished, type StartOptions } from './program.js';

type Write = typeof process.stdout.write;

let running: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line in this process, one at a time, for tests of a command's effects. Tests of the start, the end,
 * stdin or other processes need a process of their own.
 */
export function inProcess(args: readonly string[], options: Omit<StartOptions, 'stdin'> = {}): Promise<Finished> {
  const next = running.then(() => runHere(args, options));
  running = next.catch(() => {});
  return next;
}

async function runHere(args: readonly string[], { env, cwd = emptyFolder() }: StartOptions): Promise<Finished> {
  const before = { argv: process.argv, cwd: process.cwd(), env: process.env };
  const [stdout, stderr] = [new Capture(process.stdout), new Capture(process.stderr)];
  process.argv = [process.execPath, PROGRAM, ...args];
  process.env = cleanEnvironment(env);
  process.chdir(cwd);
  // The runner's own stdin is a pipe, and never ends.
  const stdin = openSync(devNull, 'r');
  const ownStdin = Object.getOwnPropertyDescriptor(process, 'stdin')!;
  Object.defineProperty(process, 'stdin', {
    value: Object.assign(Readable.from([]), { fd: stdin }),
    configurable: true,
  });
  try {
    const status = await runProgram(args, sharedEngines);
    return { status, signal: null, stdout: stdout.text, stderr: stderr.text };
  } finally {
    Object.defineProperty(process, 'stdin', ownStdin);
    closeSync(stdin);
    process.chdir(before.cwd);
    process.env = before.env;
    process.argv = before.argv;
    stdout.end();
    stderr.end();
  }
}

/** Runs it in threads that all command lines of a test file share. */
async function sharedEngines() {
  const { runtime, compiler } = sharedThreads();
  return { runtime, compiler, close: () => runtime.close() };
}

/** Captures the writes to a stream, and the listeners of a program, which would end with its process. */
class Capture {
  text = '';
  readonly #stream: NodeJS.WriteStream;
  readonly #write: Write;
  readonly #listeners: readonly unknown[];

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#write = stream.write.bind(stream);
    this.#listeners = stream.listeners('error');
    stream.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
      this.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      const done = rest.find((one) => typeof one === 'function');
      done?.();
      return true;
    }) as Write;
  }

  end(): void {
    this.#stream.write = this.#write;
    for (const listener of this.#stream.listeners('error'))
      if (!this.#listeners.includes(listener)) this.#stream.off('error', listener as () => void);
  }
}
