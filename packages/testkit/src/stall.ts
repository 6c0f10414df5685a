import { closeSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/*
 * Measures how long work blocks the event loop, as a multiple of fixed reference work that runs next to it: a processor
 * that is slower, or that shares its caches, slows both. The measurements use the processor time of this thread if the
 * system reports it, and otherwise elapsed time.
 */

/** The time of the reference work on a quiet machine: the unit of the measurements. */
const REFERENCE_MS = 10;
/** The goal is 50 ms on a quiet machine. The rest covers stalls that the reference does not measure. */
const MAX_CPU_STALL_MS = 100;
/** The maximum on systems that report only elapsed time, where other programs count too. */
const MAX_WALL_STALL_MS = 500;
const ATTEMPTS = 5;
/** Runs the reference work first, so that it is measured as compiled code. */
let warmups = 5;

interface ThreadCpu {
  threadCpuUsage?: (() => { user: number; system: number }) | undefined;
}

const usage = (process as ThreadCpu).threadCpuUsage?.bind(process);
const schedstat = usage === undefined && process.platform === 'linux' ? openSchedstat() : undefined;

/** The limit of a test, in ms of a quiet machine, as `shortestStall` and `shortestRun` return it. */
export const MAX_STALL_MS = usage === undefined && schedstat === undefined ? MAX_WALL_STALL_MS : MAX_CPU_STALL_MS;

/** The longest time in ms that `work` held up the event loop, in the best of a few attempts. */
export function shortestStall(work: () => Promise<unknown>): Promise<number> {
  return best(() => longestStall(work));
}

/** The time of `work` in ms, in the best of a few attempts. */
export function shortestRun(work: () => unknown): Promise<number> {
  return best(() => {
    const before = busyMs();
    work();
    return busyMs() - before;
  });
}

/** Measures again if the machine disturbs the first attempt. */
async function best(measure: () => number | Promise<number>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let attempt = 1; attempt <= ATTEMPTS && shortest > MAX_STALL_MS; attempt += 1) {
    const before = slowness();
    const ms = await measure();
    shortest = Math.min(shortest, ms / Math.max(before, slowness()));
  }
  return shortest;
}

/** The factor by which this machine is slower now than a quiet one; never less than 1. */
function slowness(): number {
  while (warmups > 0) {
    warmups -= 1;
    referenceWork();
  }
  const before = busyMs();
  referenceWork();
  return Math.max(1, (busyMs() - before) / REFERENCE_MS);
}

/** Objects, strings and maps, like those of validation and checks. */
function referenceWork(): number {
  const rows = Array.from({ length: 8_000 }, (_, index) => ({
    id: index,
    name: `row ${index}`,
    parts: [index, `${index}`],
  }));
  const copies = JSON.parse(JSON.stringify(rows)) as typeof rows;
  const byName = new Map(copies.map((row) => [row.name, { ...row }]));
  return [...byName.keys()].toSorted().length;
}

/** The longest interval between two turns of a timer that is due every few milliseconds. */
async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = busyMs();
  const look = (): void => {
    const now = busyMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 2);
  try {
    await work();
    await sleep(5);
    look();
    return longest;
  } finally {
    clearInterval(timer);
  }
}

function busyMs(): number {
  if (usage !== undefined) {
    const { user, system } = usage();
    return (user + system) / 1000;
  }
  return schedstat?.() ?? performance.now();
}

/** The kernel's account of the main thread: its first number is nanoseconds on a processor. */
function openSchedstat(): (() => number) | undefined {
  const path = '/proc/thread-self/schedstat';
  const buffer = Buffer.alloc(64);
  const read = (): number => {
    const file = openSync(path, 'r');
    const length = readSync(file, buffer, 0, buffer.length, 0);
    closeSync(file);
    return Number.parseInt(buffer.toString('latin1', 0, length), 10) / 1e6;
  };
  try {
    return Number.isFinite(read()) ? read : undefined;
  } catch {
    return undefined;
  }
}
