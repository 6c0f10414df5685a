import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';

/** Says which process it was, in a way that a later process with the same number is not taken for it. */
export const ProcessIdentity = z.object({
  pid: z.number().int().positive(),
  /** Where the process is counted: the same number means another process elsewhere. */
  place: z.string(),
  /** The start of the machine; '' where the system does not say. */
  boot: z.string(),
  /** In clock ticks since then; '' where the system does not say. */
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

/** What cannot be known here (another host, another container) is alive for as long as `ageMs` is below a minute. */
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

/** '' for a process that ended and was not waited for yet, too. */
function startOf(pid: number): string {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses, with whatever it contains.
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
