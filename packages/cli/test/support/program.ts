import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { newFolder } from '@toolscript/testkit/folder';

export const PROGRAM = fileURLToPath(new URL('../../bin/toolscript.js', import.meta.url));

export interface Finished {
  status: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

export interface StartOptions {
  /** Written to stdin, which is then closed. Default: stdin is /dev/null, neither a terminal nor a pipe. */
  stdin?: string | Uint8Array;
  /** Stdin is a pipe that stays open. */
  keepStdinOpen?: boolean;
  env?: Record<string, string>;
  cwd?: string;
}

interface FileFolders {
  readonly testPath: string | undefined;
  readonly data: string;
  readonly current: string;
}

let ofFile: FileFolders | undefined;

/** The default folders of a program: the same for all of a test file. Several files share this process. */
function fileFolders(): FileFolders {
  const { testPath } = expect.getState();
  if (ofFile === undefined || ofFile.testPath !== testPath)
    ofFile = { testPath, data: newFolder(), current: newFolder() };
  return ofFile;
}

/** An environment without the settings of the user who runs the tests. */
export function cleanEnvironment(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return {
    PATH,
    HOME,
    XDG_CONFIG_HOME: join(tmpdir(), 'toolscript-cli-no-such-folder'),
    XDG_DATA_HOME: fileFolders().data,
    ...extra,
  };
}

/** The real program in a process of its own. */
export async function toolscript(args: readonly string[], options: StartOptions = {}): Promise<Finished> {
  const child = start(process.execPath, [PROGRAM, ...args], options);
  return finished(child);
}

/** The default folder of a program: the same for all of a file. */
export function emptyFolder(): string {
  return fileFolders().current;
}

export function start(
  command: string,
  args: readonly string[],
  { stdin, keepStdinOpen, env, cwd }: StartOptions = {},
): ChildProcessWithoutNullStreams {
  const child = spawn(command, args, {
    cwd: cwd ?? emptyFolder(),
    env: cleanEnvironment(env),
    stdio: [stdin === undefined && keepStdinOpen !== true ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessWithoutNullStreams;
  child.stdin?.on('error', () => {});
  if (stdin !== undefined) child.stdin.end(stdin);
  return child;
}

export function finished(child: ChildProcessWithoutNullStreams): Promise<Finished> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status, signal, stdout, stderr }));
  });
}

/** Resolves when the stream contains the expected text. */
export function said(child: ChildProcessWithoutNullStreams, wanted: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (piece: unknown) => {
      text += String(piece);
      if (text.includes(wanted)) resolve();
    });
    child.on('close', () => reject(new Error(`The program ended without saying ${JSON.stringify(wanted)}: ${text}`)));
  });
}
