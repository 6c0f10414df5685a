import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';

/** Identifies a process, so that a later process with the same PID is not mistaken for it. */
export const ProcessIdentity = z.object({
  pid: z.number().int().positive(),
  /** The host and, if the system reports it, the PID namespace. A PID is valid only within them. */
  place: z.string(),
  /** Identifies the boot; '' if the system does not report it. */
  boot: z.string(),
  /** The start of the process, in clock ticks since the boot; '' if the system does not report it. */
  start: z.string(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

export function ownIdentity(): ProcessIdentity {
  return {
    pid: process.pid,
    place: ownPlace(),
    boot: readOrEmpty('/proc/sys/kernel/random/boot_id').trim(),
    start: startOf(process.pid),
  };
}

/**
 * Whether the process runs. A process on another host or in another container counts as alive while `ageMs`, the age of
 * the process's lock or journal, is below a minute.
 */
export function isAlive(identity: ProcessIdentity, own: ProcessIdentity, ageMs: number): boolean {
  if (identity.place !== own.place) return ageMs < 60_000;
  if (identity.boot !== own.boot || !hasProcess(identity.pid)) return false;
  return startOf(identity.pid) === identity.start;
}

function ownPlace(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * The start time of a process; '' if the process does not exist or is a zombie, or if the system does not report it.
 */
function startOf(pid: number): string {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The second field is the program name in parentheses, which may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? '' : (fields[19] ?? '');
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
