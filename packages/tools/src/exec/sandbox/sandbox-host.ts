import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { LinuxSandboxProfileError, SandboxManager } from '@anthropic-ai/sandbox-runtime';
import type { SandboxRuntimeConfig } from '@anthropic-ai/sandbox-runtime';
import { readOnlyKernelFiles } from './kernel-files.js';
import { addOptions, FILTER_DESCRIPTOR } from './line.js';
import type { SandboxAnswer, SandboxRequest } from './messages.js';
import type { SandboxedDisk } from './policy.js';
import { systemCallFilter } from './system-calls.js';

/*
 * A process of its own for the package that makes sandboxes. It turns a command into the line that starts it
 * inside; the commands themselves are started by the tool.
 *
 * The package keeps one configuration for each process, listens to the process's signals, and protects files in
 * the process's current folder by putting empty ones there. Here the configuration is this host's alone, the
 * signals are nobody else's, and the current folder is an empty one.
 */

/** The package's own programs, which run inside; it may be installed below a folder that is hidden there. */
const HELPERS = fileURLToPath(new URL('../vendor', import.meta.resolve('@anthropic-ai/sandbox-runtime')));

const NOTHING: SandboxedDisk = { denyRead: [], allowRead: [], allowWrite: [], denyWrite: [] };

const folder = mkdtempSync(join(tmpdir(), 'toolscript-sandbox-'));
process.chdir(folder);
process.on('exit', () => {
  process.chdir('/');
  rmSync(folder, { recursive: true, force: true });
});
process.on('disconnect', () => void SandboxManager.reset().finally(() => process.exit(0)));
// A signal to the whole group (Ctrl-C) is the tool's business; the end of the tool is the end of this process.
process.on('SIGINT', () => undefined);
process.on('message', (request: SandboxRequest) => {
  if (request.kind === 'release') return SandboxManager.cleanupAfterCommand();
  const work = request.kind === 'start' ? start(request) : wrap(request.command, request.disk);
  work.then(
    ({ line, filter }) => answer({ id: request.id, ok: true, line, filter: filter.toString('base64') }),
    (error: unknown) => answer({ id: request.id, ok: false, reason: messageOf(error), isTooLong: isTooLong(error) }),
  );
});

function answer(message: SandboxAnswer): void {
  if (process.connected) process.send?.(message);
}

interface Wrapped {
  readonly line: string;
  readonly filter: Buffer;
}

async function start({ programs, allowedHosts }: SandboxRequest & { kind: 'start' }): Promise<Wrapped> {
  const configuration: SandboxRuntimeConfig = {
    network: { allowedDomains: [...allowedHosts], deniedDomains: [], strictAllowlist: true },
    filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
    // It looks for files to protect below the current folder, which is empty here.
    ripgrep: { command: 'true' },
    mandatoryDenySearchDepth: 1,
    ...(programs.bubblewrap === undefined ? {} : { bwrapPath: programs.bubblewrap }),
    ...(programs.socat === undefined ? {} : { socatPath: programs.socat }),
  };
  SandboxManager.updateConfig(configuration);
  const { errors, warnings } = await SandboxManager.checkDependenciesAsync();
  // What is a warning to the package (no filter for local sockets on this processor) is a hole here.
  const lacking = [...errors, ...warnings];
  if (lacking.length > 0) throw new Error(lacking.join('; '));
  if (allowedHosts.length > 0) await SandboxManager.initialize(configuration);
  await tryOut();
  return { line: '', filter: Buffer.alloc(0) };
}

/** Fails with what is in the way. Also where the kernel's settings could be written: that is the one way out as root. */
const TRIAL = 'if test -w /proc/sys/kernel/core_pattern; then echo "/proc/sys can be written" >&2; exit 1; fi';

/** Whether the system lets the sandbox be set up is known only by doing it. */
async function tryOut(): Promise<void> {
  try {
    const { line, filter } = await wrap(TRIAL, NOTHING);
    const child = spawn('/bin/sh', ['-c', `exec ${line}`], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close') as Promise<[number | null]>;
    const complaints: Buffer[] = [];
    child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk));
    const descriptor = child.stdio[FILTER_DESCRIPTOR] as Writable | undefined;
    descriptor?.on('error', () => undefined).end(filter);
    const [status] = await ended;
    if (status !== 0) throw new Error(Buffer.concat(complaints).toString('utf8') || `it ended with status ${status}`);
  } finally {
    SandboxManager.cleanupAfterCommand();
  }
}

async function wrap(command: string, disk: SandboxedDisk): Promise<Wrapped> {
  const filesystem = {
    denyRead: [...disk.denyRead],
    allowRead: [...disk.allowRead, ...proxySockets(), HELPERS],
    allowWrite: [...disk.allowWrite],
    denyWrite: [...disk.denyWrite],
  };
  const repositories = { safeDirectories: [...disk.allowWrite, ...disk.allowRead] };
  // Without a name of ours the proxy's address would hold the beginning of the command.
  const names = { commandId: 'exec' };
  const line = await SandboxManager.wrapWithSandbox(command, 'sh', { filesystem, git: repositories }, undefined, names);
  if (process.platform !== 'linux') return { line, filter: Buffer.alloc(0) };
  const filter = systemCallFilter(process.arch, process.geteuid?.() === 0);
  if (filter === undefined) throw new Error(`there is no filter for system calls on ${process.arch}`);
  const options = [...readOnlyKernelFiles(process.geteuid?.()), '--seccomp', String(FILTER_DESCRIPTOR)];
  return { line: addOptions(line, options), filter };
}

/** The ways to the proxy; they lie in the temporary folder that the sandbox replaces. */
function proxySockets(): string[] {
  const sockets = [SandboxManager.getLinuxHttpSocketPath(), SandboxManager.getLinuxSocksSocketPath()];
  return [...new Set(sockets)].filter((path) => path !== undefined);
}

function isTooLong(error: unknown): boolean {
  return error instanceof LinuxSandboxProfileError && error.code === 'command_too_long';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
