import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { systemCode, UsageError } from '../usage-error.js';

const HolderSchema = z.preprocess(
  // Earlier versions wrote the number alone.
  (value) => (typeof value === 'number' ? { pid: value } : value),
  z.object({
    pid: z.int().positive(),
    /** When the process began, by its own clock: what it knows itself by. */
    born: z.number().optional(),
    /** When the system began it, in clock ticks since the machine started; where the system says so. */
    start_time: z.string().optional(),
    boot_id: z.string().optional(),
  }),
);

type Holder = z.infer<typeof HolderSchema>;

/**
 * A file that says which process has a conversation open. It comes into being whole, by link(2). What a dead process
 * left is replaced by whoever holds the lock of that, `….takeover`: of several that find it, exactly one.
 */
export class ThreadLock {
  readonly #path: string;
  readonly #text: string;

  private constructor(path: string, text: string) {
    this.#path = path;
    this.#text = text;
  }

  /** Throws a UsageError where it is held, and what the system says. */
  static take(path: string): ThreadLock {
    const token = randomUUID();
    const text = JSON.stringify({ ...ownHolder(), token });
    const draft = `${path}.${token}`;
    try {
      writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
      while (!isPlaced(draft, path) && !replacesStale(draft, path));
      return new ThreadLock(path, text);
    } finally {
      remove(draft);
    }
  }

  /** Leaves one that somebody else has taken by now. */
  release(): void {
    if (readIfReadable(this.#path) === this.#text) remove(this.#path);
  }
}

/** False where there is one already. */
function isPlaced(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** False where it was released, or changed hands. Throws a UsageError where it is held. */
function replacesStale(draft: string, path: string): boolean {
  const found = readIfThere(path);
  if (found === undefined) return false;
  refuseHeld(found);
  const takeover = ThreadLock.take(`${path}.takeover`);
  try {
    if (readIfThere(path) !== found) return false;
    renameSync(draft, path);
    return true;
  } finally {
    takeover.release();
  }
}

function refuseHeld(text: string): void {
  const holder = parseHolder(text);
  if (holder === undefined || !isHeldBy(holder)) return;
  const who = holder.pid === process.pid ? 'this process already' : 'another process';
  throw new UsageError(`This conversation is open in ${who} (${holder.pid}). End that one first.`);
}

/** Undefined where the text says nobody, as after a power cut. */
function parseHolder(text: string): Holder | undefined {
  try {
    return HolderSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function ownHolder(): Holder {
  const startTime = readProcess(process.pid)?.startTime;
  const bootId = readBootId();
  return {
    pid: process.pid,
    born: performance.timeOrigin,
    ...(startTime === undefined ? {} : { start_time: startTime }),
    ...(bootId === undefined ? {} : { boot_id: bootId }),
  };
}

/** Where the system says too little, a process with this number counts. */
function isHeldBy({ pid, born, start_time: startTime, boot_id: bootId }: Holder): boolean {
  if (pid === process.pid) return born === performance.timeOrigin;
  if (bootId !== undefined && bootId !== (readBootId() ?? bootId)) return false;
  if (!hasProcess(pid)) return false;
  const found = readProcess(pid);
  if (found === undefined) return true;
  return !found.isZombie && (startTime ?? found.startTime) === found.startTime;
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

/** Undefined where there is no /proc, or no such process. */
function readProcess(pid: number): { startTime: string; isZombie: boolean } | undefined {
  const stat = readIfReadable(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses, with whatever it contains; state is the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { startTime: fields[22 - 3] ?? '', isZombie: fields[0] === 'Z' || fields[0] === 'X' };
}

function readBootId(): string | undefined {
  return readIfReadable('/proc/sys/kernel/random/boot_id')?.trim();
}

function readIfReadable(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** What cannot be removed holds nothing once this process has ended. */
function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {}
}
