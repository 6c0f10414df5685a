import { setTimeout as delay } from 'node:timers/promises';

const BETWEEN_LOOKS_MS = 10;
/** Less than a test has, so that the failure names the question. */
const MAX_MS = 80_000;

/** Asks again and again until the answer is neither undefined nor false, and returns it. */
export async function until<Answer>(
  ask: () => Answer | Promise<Answer>,
  maxMs = MAX_MS,
): Promise<Exclude<Answer, undefined | false>> {
  for (const start = performance.now(); performance.now() - start < maxMs; await delay(BETWEEN_LOOKS_MS)) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer as Exclude<Answer, undefined | false>;
  }
  throw new Error(`Not so after ${maxMs} ms: ${String(ask)}`);
}
