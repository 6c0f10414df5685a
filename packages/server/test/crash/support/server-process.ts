import { fork, spawnSync, type ChildProcess, type ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { ServerRole } from '@toolscript/server';
import { testClient, TOKEN, type TestClient } from '../../support/test-server.js';

const PROGRAM = fileURLToPath(new URL('server-process.mjs', import.meta.url));
const CLOCK = fileURLToPath(new URL('shifted-clock.mjs', import.meta.url));

/**
 * The point where a process kills itself: at a call of its stores, after an event that it published, in an effect of a
 * tool, or after some time.
 */
export interface KillPoint {
  readonly at: 'before-call' | 'during-call' | 'after-call' | 'after-event' | 'in-effect' | 'after-ms';
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
  /** Its name in the ledger of claims and effects, which it then writes. */
  readonly name?: string;
  /** `new` has another suspension key and a newer bridge, and opens what an `old` one has made. Default: `old`. */
  readonly release?: 'old' | 'new';
}

export interface ProcessPlace {
  /** Its clock is ahead of the machine's, in ms. */
  readonly clockMs?: number;
  /** It runs in a separate PID namespace, so that others cannot know whether it is alive, as on another machine. */
  readonly isElsewhere?: boolean;
}

/** A server in a separate process. */
export interface ServerProcess {
  readonly child: ChildProcess;
  /** The process of the server itself. */
  readonly pid: number;
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

export async function startServer(
  folder: string,
  options: ProcessOptions = {},
  place: ProcessPlace = {},
): Promise<ServerProcess> {
  const json = JSON.stringify({ token: TOKEN, ...options });
  const child = fork(PROGRAM, [folder, json], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], ...startedAt(place) });
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
  const pid = place.isElsewhere === true ? childOf(child.pid!) : child.pid!;
  return { child, pid, client, url, hasEnded: () => hasEnded, ended, log: () => log };
}

function startedAt({ clockMs = 0, isElsewhere = false }: ProcessPlace): ForkOptions {
  const node = clockMs === 0 ? [] : ['--import', CLOCK];
  const env = { ...process.env, TOOLSCRIPT_TEST_CLOCK_MS: String(clockMs) };
  if (!isElsewhere) return { execArgv: node, env };
  const namespace = ['--pid', '--fork', '--kill-child', '--mount-proc', process.execPath];
  return { execPath: 'unshare', execArgv: [...namespace, ...node], env };
}

/** True if processes can be started with `isElsewhere`, which needs Linux and its rights. */
export function canStartElsewhere(): boolean {
  return spawnSync('unshare', ['--pid', '--fork', '--kill-child', '--mount-proc', 'true']).status === 0;
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]) || pid;
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
