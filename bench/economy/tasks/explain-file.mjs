import { calls, script } from '../turns.mjs';
import { CODING_ROLE, folderWorld } from '../worlds.mjs';

const FILE = `import { now } from './clock.js';

export interface RateLimit {
  /** The maximum number of requests in a burst. */
  readonly burst: number;
  /** The number of requests that become available again in a second. */
  readonly perSecond: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

const IDLE_MS = 600_000;

export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #buckets = new Map<string, Bucket>();
  #sweptAt = now();

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  /** Ms to wait before the next try; 0 if the request may continue. */
  take(key: string): number {
    this.#sweep();
    const bucket = this.#bucketOf(key);
    this.#fill(bucket);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return 0;
    }
    return Math.ceil(((1 - bucket.tokens) / this.#limit.perSecond) * 1000);
  }

  #bucketOf(key: string): Bucket {
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    const fresh = { tokens: this.#limit.burst, filledAt: now() };
    this.#buckets.set(key, fresh);
    return fresh;
  }

  #fill(bucket: Bucket): void {
    const at = now();
    const earned = ((at - bucket.filledAt) / 1000) * this.#limit.perSecond;
    bucket.tokens = Math.min(this.#limit.burst, bucket.tokens + earned);
    bucket.filledAt = at;
  }

  #sweep(): void {
    if (now() - this.#sweptAt < IDLE_MS) return;
    this.#sweptAt = now();
    for (const [key, { filledAt }] of this.#buckets) if (now() - filledAt > IDLE_MS) this.#buckets.delete(key);
  }
}
`;
const read = ['readFile', { path: 'src/rate-limit.ts' }];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'explain-file',
  title: 'one file read and explained',
  role: CODING_ROLE,
  ask: 'Explain src/rate-limit.ts to me in three sentences.',
  open: folderWorld({ 'src/rate-limit.ts': FILE, 'src/clock.ts': 'export const now = (): number => Date.now();\n' }),
  ways: {
    one: [calls(read)],
    parallel: [calls(read)],
    scripts: [script(`return (await tools.readFile({ path: 'src/rate-limit.ts' })).lines.join('\\n');`)],
  },
  answer:
    'It is a token bucket for each key: a key starts with `burst` tokens, earns `perSecond` of them each second up to that bound, and pays one for each request. `take` says 0 where a token was there, and otherwise how many milliseconds it will be until the next one. Keys that were not used for ten minutes are forgotten.',
  evidence: ['bucket.tokens -= 1;', 'const IDLE_MS = 600_000;'],
  value: FILE.trimEnd(),
  why: 'The model must read all of it, and one call brings it; the declarations of the coding tools are longer than their schemas, because they say what results look like.',
};
