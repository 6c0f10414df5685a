import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LinuxSandboxProfileError, SandboxManager, type SandboxRuntimeConfig } from '@anthropic-ai/sandbox-runtime';
import { Guard, type GuardedState } from './guard.js';
import { readOnlyKernelFiles } from './kernel-files.js';
import { FILTER_DESCRIPTOR, optionBytes, withMoreOptions } from './line.js';
import type { Aftermath, SandboxAnswer, SandboxRequest, UncheckedPlace, WrappedCommand } from './messages.js';
import { hasPattern, type SandboxedDisk } from './policy.js';
import { obstacles } from './requirements.js';
import { systemCallFilter } from './system-calls.js';
import { hasEscapedBytes } from './system-path.js';
import { isInside } from '../../files/is-inside.js';

/*
 * A separate process for the package that creates sandboxes. The process turns a command into the shell line that
 * starts the command inside a sandbox; the tool itself runs that line.
 *
 * The package has one configuration per process, listens to the process's signals, and protects files in the current
 * folder by creating empty ones there. In this process, the configuration and the signals belong to the host alone, and
 * the current folder is empty.
 */

/** The package's own programs, which run inside the sandbox. The package may be in a folder that the sandbox hides. */
const HELPERS = fileURLToPath(new URL('../vendor', import.meta.resolve('@anthropic-ai/sandbox-runtime')));

const NOTHING: SandboxedDisk = {
  denyRead: [],
  allowRead: [],
  allowWrite: [],
  denyWrite: [],
  absent: [],
  hidden: [],
  unprotected: [],
  quarantine: undefined,
};
const NOTHING_MOVED: Aftermath = { moved: [], unchecked: [] };
/**
 * Time for which an ending host waits before it checks for new files, in ms. The system kills the running commands
 * meanwhile.
 */
const KILLED_AFTER_MS = 300;

const guard = new Guard();
/** The state before each running command, by the number of its `wrap`. */
const running = new Map<number, GuardedState>();

const folder = mkdtempSync(join(tmpdir(), 'toolscript-sandbox-'));
process.chdir(folder);
process.on('exit', () => {
  process.chdir('/');
  rmSync(folder, { recursive: true, force: true });
});
process.on('disconnect', () => void end());
// The tool process handles signals to the whole group (Ctrl-C). This process ends when the tool process ends.
process.on('SIGINT', () => undefined);
process.on('message', (request: SandboxRequest) => {
  work(request).then(
    (result) => answer({ id: request.id, ok: true, ...result }),
    (error: unknown) =>
      answer({ id: request.id, ok: false, reason: thrownMessage(error), isTooLong: isTooLong(error) }),
  );
});

interface Result {
  readonly wrapped?: WrappedCommand | undefined;
  readonly unchecked?: readonly UncheckedPlace[] | undefined;
  readonly aftermath?: Aftermath | undefined;
}

async function work(request: SandboxRequest): Promise<Result> {
  switch (request.kind) {
    case 'start':
      await start(request);
      return {};
    case 'wrap':
      return wrapGuarded(request);
    case 'finish':
      return { aftermath: finish(request.wrap) };
  }
}

async function wrapGuarded({ id, command, disk }: SandboxRequest & { kind: 'wrap' }): Promise<Result> {
  const guarded = guard.before({
    roots: disk.allowWrite,
    unprotected: new Set(disk.unprotected),
    absent: disk.absent,
    quarantine: disk.quarantine,
  });
  // defence: no-command-in-an-unchecked-workspace
  if (guarded.unchecked.length > 0) return { unchecked: guarded.unchecked };
  const wrapped = await wrap(command, disk, guarded.readOnly);
  running.set(id, guarded);
  return { wrapped };
}

/**
 * Removes the files that the package created for the command. Moves away the files that the command created or changed
 * and that other programs would execute or obey.
 */
function finish(wrapped: number): Aftermath {
  const guarded = running.get(wrapped);
  if (guarded === undefined) return NOTHING_MOVED;
  running.delete(wrapped);
  SandboxManager.cleanupAfterCommand();
  // defence: quarantine
  return guard.after(guarded);
}

async function end(): Promise<void> {
  if (running.size > 0) await sleep(KILLED_AFTER_MS);
  // defence: quarantine-after-the-host
  for (const wrapped of running.keys()) finish(wrapped);
  await SandboxManager.reset().finally(() => process.exit(0));
}

function answer(message: SandboxAnswer): void {
  if (process.connected) process.send?.(message);
}

async function start({ programs, allowedHosts }: SandboxRequest & { kind: 'start' }): Promise<void> {
  const configuration: SandboxRuntimeConfig = {
    network: { allowedDomains: [...allowedHosts], deniedDomains: [], strictAllowlist: true },
    filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
    // The package searches the current folder for files to protect. This folder is empty.
    ripgrep: { command: 'true' },
    mandatoryDenySearchDepth: 1,
    ...(programs.bubblewrap === undefined ? {} : { bwrapPath: programs.bubblewrap }),
    ...(programs.socat === undefined ? {} : { socatPath: programs.socat }),
  };
  SandboxManager.updateConfig(configuration);
  const lacking = obstacles(await SandboxManager.checkDependenciesAsync());
  if (lacking.length > 0) throw new Error(lacking.join('; '));
  if (allowedHosts.length > 0) await SandboxManager.initialize(configuration);
  await tryOut();
}

/** A command that fails if kernel settings are writable, because root could leave the sandbox through them. */
const TRIAL = 'if test -w /proc/sys/kernel/core_pattern; then echo "/proc/sys can be written" >&2; exit 1; fi';

/** Tries a command, because only an attempt shows whether the system allows the sandbox. */
async function tryOut(): Promise<void> {
  try {
    const { line, inputs } = await wrap(TRIAL, NOTHING, []);
    const child = spawn('/bin/sh', ['-c', `exec ${line}`], {
      stdio: ['ignore', 'ignore', 'pipe', ...inputs.map(() => 'pipe' as const)],
    });
    const ended = once(child, 'close') as Promise<[number | null]>;
    const errorOutput: Buffer[] = [];
    child.stderr?.on('data', (chunk: Buffer) => errorOutput.push(chunk));
    for (const [index, input] of inputs.entries()) {
      const descriptor = child.stdio?.[FILTER_DESCRIPTOR + index] as Writable | undefined;
      descriptor?.on('error', () => undefined).end(Buffer.from(input, 'base64'));
    }
    const [status] = await ended;
    if (status !== 0)
      throw new Error(Buffer.concat(errorOutput).toString('utf8') || `a test command ended with status ${status}`);
  } finally {
    SandboxManager.cleanupAfterCommand();
  }
}

/** Creates the line that starts a command in the sandbox. `readOnly` contains paths inside the writable folders. */
async function wrap(command: string, disk: SandboxedDisk, readOnly: readonly string[]): Promise<WrappedCommand> {
  const byPackage = readOnly.filter((path) => isForPackage(path, disk));
  const filesystem = {
    denyRead: [...disk.denyRead],
    allowRead: [...disk.allowRead, ...proxySockets(), HELPERS],
    allowWrite: [...disk.allowWrite],
    // defence: protected-entries-read-only-and-pinned
    denyWrite: [...disk.denyWrite, ...byPackage],
  };
  const repositories = { safeDirectories: [...disk.allowWrite, ...disk.allowRead] };
  // Without an explicit id, the proxy's address would contain the start of the command.
  const names = { commandId: 'exec' };
  const line = await SandboxManager.wrapWithSandbox(command, 'sh', { filesystem, git: repositories }, undefined, names);
  if (process.platform !== 'linux') return { line, inputs: [] };
  const filter = systemCallFilter(process.arch, process.geteuid?.() === 0);
  if (filter === undefined)
    throw new Error(`Toolscript has no filter of system calls for the processor ${process.arch}`);
  const options: string[] = [];
  const own = readOnly.filter((path) => !byPackage.includes(path));
  // defence: protected-entries-read-only
  options.push(...own.flatMap((path) => ['--ro-bind-try', path, path]));
  // defence: secrets-with-pattern-characters-hidden
  options.push(...disk.hidden.flatMap(hide));
  options.push(...readOnlyKernelFiles(process.geteuid?.()));
  // defence: filter-for-system-calls
  options.push('--seccomp', String(FILTER_DESCRIPTOR));
  const inputs = [filter, optionBytes(options)].map((bytes) => bytes.toString('base64'));
  return { line: withMoreOptions(line), inputs };
}

/**
 * Whether the package, and not this host, protects a read-only path. The package also prevents renaming of the folders
 * above the path. On Linux, this host therefore mounts deeper entries itself, so that the folders above them can still
 * be renamed. Near hidden paths, the package protects all entries.
 */
function isForPackage(path: string, { allowWrite, denyRead }: SandboxedDisk): boolean {
  if (hasPattern(path) || hasEscapedBytes(path)) return false;
  const place = dirname(path).replace(/[/\\]\.git$/, '');
  const hiddenInside = denyRead.filter((hidden) => allowWrite.some((root) => isInside(root, hidden)));
  const isNearHidden = hiddenInside.some((hidden) => isInside(hidden, path) || isInside(path, hidden));
  return process.platform !== 'linux' || allowWrite.includes(place) || isNearHidden;
}

function hide(path: string): string[] {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];
}

/** The sockets of the proxy, which are in the temporary folder that the sandbox replaces. */
function proxySockets(): string[] {
  const sockets = [SandboxManager.getLinuxHttpSocketPath(), SandboxManager.getLinuxSocksSocketPath()];
  return [...new Set(sockets)].filter((path) => path !== undefined);
}

function isTooLong(error: unknown): boolean {
  return error instanceof LinuxSandboxProfileError && error.code === 'command_too_long';
}

function thrownMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
