import type { Clock } from './clock.js';
import type { RequestFailure } from './request-failure.js';

export interface RetryOptions {
  /** Most attempts after the first one. Default 3. */
  maxRetries?: number;
  /** The first wait is up to this, in ms; each further one up to twice as much. Default 500. */
  baseDelayMs?: number;
  /** No wait of ours is longer, in ms. Default 30 000. */
  maxDelayMs?: number;
  /** A provider that asks for a longer wait than this, in ms, is not asked again. Default 60 000. */
  maxRetryAfterMs?: number;
}

export type RetryPolicy = Required<RetryOptions>;

export const DEFAULT_RETRIES: RetryPolicy = Object.freeze({
  maxRetries: 3,
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxRetryAfterMs: 60_000,
});

/**
 * How long to wait before the next attempt, in ms; undefined where there is none. What the provider asks for is
 * waited; otherwise the wait grows with the attempts and is a random part of it ("full jitter"), so that callers who
 * failed together do not come back together. `retries`: attempts after the first one that have been made.
 */
export function delayBeforeRetry(
  failure: RequestFailure,
  retries: number,
  policy: RetryPolicy,
  clock: Clock,
): number | undefined {
  if (!failure.retryable || retries >= policy.maxRetries) return undefined;
  const { retryAfterMs } = failure;
  if (retryAfterMs !== undefined) return retryAfterMs <= policy.maxRetryAfterMs ? retryAfterMs : undefined;
  return Math.floor(clock.random() * Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** retries));
}

/** What `retry-after-ms`, or `retry-after` in seconds or as an HTTP date, asks for. */
export function retryAfterOf(headers: Headers, clock: Clock): number | undefined {
  const ms = numberOf(headers.get('retry-after-ms'));
  if (ms !== undefined) return ms;
  const value = headers.get('retry-after');
  const seconds = numberOf(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = value === null ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now());
}

function numberOf(value: string | null): number | undefined {
  if (value === null || !/^\s*\d+(?:\.\d+)?\s*$/u.test(value)) return undefined;
  return Number(value);
}
