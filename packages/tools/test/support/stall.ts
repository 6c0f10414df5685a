import { setTimeout as sleep } from 'node:timers/promises';

/** The machine that runs the tests is shared; the goal is 50 ms, and a fault that this guards against takes seconds. */
export const MAX_STALL_MS = 500;

/** How long a timer that is due every few milliseconds was held up at most while `work` ran. */
async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const look = (): void => {
    const now = performance.now();
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

/** The same; a machine that was busy gets a second chance. */
export async function shortestStall(work: () => Promise<unknown>): Promise<number> {
  const first = await longestStall(work);
  return first <= MAX_STALL_MS ? first : Math.min(first, await longestStall(work));
}
