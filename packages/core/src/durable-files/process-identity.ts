import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies a process, so that a later process with the same PID is not mistaken for it. */
export interface ProcessIdentity {
  /** Unique to this process. */
  readonly instance: string | undefined;
  readonly pid: number;
  /** The start of the process in clock ticks since boot; undefined if the system does not report it. */
  readonly startTime: string | undefined;
  readonly bootId: string | undefined;
  /** PIDs are valid only within this namespace. */
  readonly pidNamespace: string | undefined;
  readonly hostname: string;
}

const INSTANCE = randomBytes(12).toString('base64url');

let own: ProcessIdentity | undefined;

export function ownIdentity(): ProcessIdentity {
  own ??= {
    instance: INSTANCE,
    pid: process.pid,
    startTime: readProcess(process.pid)?.startTime,
    bootId: readProc('sys/kernel/random/boot_id')?.trim(),
    pidNamespace: readPidNamespace(),
    hostname: hostname(),
  };
  return own;
}

/**
 * Whether the process is alive. Undefined if this process cannot know: the other process ran on another machine, boot
 * or PID namespace, or the system reports too little.
 */
export function isAlive(identity: ProcessIdentity, own = ownIdentity()): boolean | undefined {
  if (identity.instance !== undefined && identity.instance === own.instance) return true;
  if (isSameWorld(identity, own) && identity.startTime !== undefined) {
    const found = readProcess(identity.pid);
    return found !== undefined && found.startTime === identity.startTime && !found.isZombie;
  }
  const knowsOnlyPids = identity.bootId === undefined && own.bootId === undefined;
  if (!knowsOnlyPids || identity.hostname !== own.hostname) return undefined;
  // An unused PID proves that the process has ended. A used PID may belong to another process by now.
  return hasProcess(identity.pid) ? undefined : false;
}

/** If this process cannot know whether a holder is alive, the holder keeps what it holds for this long, in ms. */
const UNKNOWN_HOLDER_MS = 60_000;

/**
 * Whether a process still holds a lock, a claim or a file. If this process cannot know whether the holder is alive, the
 * holder keeps it for `forMs` after `signAtMs`, its last sign of life in ms since 1970.
 */
export function isHeld(holder: ProcessIdentity | undefined, signAtMs: number, forMs = UNKNOWN_HOLDER_MS): boolean {
  const isKnownAlive = holder === undefined ? undefined : isAlive(holder);
  // The absolute value rejects times far in the future, which result from a changed clock.
  return isKnownAlive ?? Math.abs(Date.now() - signAtMs) <= forMs;
}

/** Whether the process ran on this machine after its last start. If so, no file has lost writes since. */
export function isOfThisBoot(identity: ProcessIdentity | undefined, own = ownIdentity()): boolean {
  return own.bootId !== undefined && identity?.bootId === own.bootId;
}

/** Reads an identity; undefined if the text is not one, for example after a power failure. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    const { instance, pid, startTime, bootId, pidNamespace, hostname } = JSON.parse(text) as Record<
      keyof ProcessIdentity,
      unknown
    >;
    const isSound = typeof hostname === 'string' && Number.isSafeInteger(pid) && (pid as number) > 0;
    if (!isSound || ![instance, startTime, bootId, pidNamespace].every(isOptionalText)) return undefined;
    return { instance, pid, startTime, bootId, pidNamespace, hostname } as ProcessIdentity;
  } catch {
    return undefined;
  }
}

/** The mark of an identity for a file name: the fields that identify the process. */
export function identityMark({ pid, startTime = '', bootId = '', pidNamespace = '' }: ProcessIdentity): string {
  return [pid, startTime, bootId, pidNamespace].join('_');
}

/** Reads a mark; undefined if the text is not one. */
export function identityOfMark(mark: string): ProcessIdentity | undefined {
  const [pid, startTime, bootId, pidNamespace] = mark.split('_').map((part) => part || undefined);
  if (pid === undefined || !/^[1-9]\d{0,9}$/u.test(pid)) return undefined;
  return { instance: undefined, pid: Number(pid), startTime, bootId, pidNamespace, hostname: '' };
}

function isSameWorld(identity: ProcessIdentity, own: ProcessIdentity): boolean {
  if (own.bootId === undefined || identity.bootId !== own.bootId) return false;
  return own.pidNamespace !== undefined && identity.pidNamespace === own.pidNamespace;
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

/** The state of a process; undefined without /proc, or if there is no such process. */
function readProcess(pid: number): { startTime: string; isZombie: boolean } | undefined {
  const stat = readProc(`${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program name in parentheses, which may contain any character; the third is the state.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { startTime: fields[22 - 3] ?? '', isZombie: fields[0] === 'Z' || fields[0] === 'X' };
}

function readPidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/gu, '');
  } catch {
    return undefined;
  }
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return undefined;
  }
}
