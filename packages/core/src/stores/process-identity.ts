import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Says which process it was, in a way that a later process with the same number is not taken for it. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since the machine started; undefined where the system does not say. */
  readonly startTime: string | undefined;
  readonly bootId: string | undefined;
  readonly hostname: string;
}

export function ownIdentity(): ProcessIdentity {
  return {
    pid: process.pid,
    startTime: readProcess(process.pid)?.startTime,
    bootId: readProc('sys/kernel/random/boot_id')?.trim(),
    hostname: hostname(),
  };
}

/**
 * A process of another host counts as alive: nobody here can know. So does one of which this system says too
 * little, where its number is in use.
 */
export function isAlive(identity: ProcessIdentity, own: ProcessIdentity): boolean {
  if (identity.hostname !== own.hostname) return true;
  if (identity.bootId !== own.bootId || !hasProcess(identity.pid)) return false;
  const found = readProcess(identity.pid);
  if (found === undefined || identity.startTime === undefined) return true;
  return found.startTime === identity.startTime && !found.isZombie;
}

/** Undefined where the text is no identity, as after a power cut. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    const { pid, startTime, bootId, hostname } = JSON.parse(text) as Record<keyof ProcessIdentity, unknown>;
    const isSound = typeof hostname === 'string' && Number.isSafeInteger(pid) && (pid as number) > 0;
    if (!isSound || !isOptionalText(startTime) || !isOptionalText(bootId)) return undefined;
    return { pid: pid as number, startTime, bootId, hostname };
  } catch {
    return undefined;
  }
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Undefined where there is no /proc, or no such process. */
function readProcess(pid: number): { startTime: string; isZombie: boolean } | undefined {
  const stat = readProc(`${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses, with whatever it contains; state is the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { startTime: fields[22 - 3] ?? '', isZombie: fields[0] === 'Z' || fields[0] === 'X' };
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return undefined;
  }
}
