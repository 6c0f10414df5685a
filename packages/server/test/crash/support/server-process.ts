import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { ServerRole } from '@toolscript/server';
import { testClient, TOKEN, type TestClient } from '../../support/test-server.js';

const PROGRAM = fileURLToPath(new URL('server-process.mjs', import.meta.url));

/**
 * The point where a process kills itself: at a call of its stores, after an event that it published, or after some
 * time.
 */
export interface KillPoint {
  readonly at: 'before-call' | 'during-call' | 'after-call' | 'after-event' | 'after-ms';
  readonly count: number;
}

export interface ProcessOptions {
  readonly kill?: KillPoint | undefined;
  readonly drainMs?: number;
  readonly workers?: number;
  /** The URL of its database. Default: a file in its folder. */
  readonly store?: string;
  /** The URL of its live events. Default: in its database. */
  readonly events?: string;
  readonly roles?: readonly ServerRole[];
}

/** A server in a process of its own. */
export interface ServerProcess {
  readonly child: ChildProcess;
  /** Undefined if it was killed before it listened. */
  readonly client: TestClient | undefined;
  /** Its address, if it listens. */
  readonly url: string | undefined;
  readonly hasEnded: () => boolean;
  /** Resolves with the signal that ended it; null if it ended by itself. */
  readonly ended: Promise<NodeJS.Signals | null>;
  /** Its log. */
  readonly log: () => string;
}

export async function startServer(folder: string, options: ProcessOptions = {}): Promise<ServerProcess> {
  const json = JSON.stringify({ token: TOKEN, ...options });
  const child = fork(PROGRAM, [folder, json], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let log = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (log += text));
  let hasEnded = false;
  const ended = once(child, 'close').then(([, signal]) => {
    hasEnded = true;
    return signal as NodeJS.Signals | null;
  });
  const url = await Promise.race([firstLine(child), ended.then(() => undefined)]);
  const client = url === undefined ? undefined : testClient(url);
  return { child, client, url, hasEnded: () => hasEnded, ended, log: () => log };
}

async function firstLine(child: ChildProcess): Promise<string> {
  let said = '';
  return new Promise((resolve) => {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('\n')) resolve(said.slice(0, said.indexOf('\n')));
    });
  });
}
