import type { Clock } from './clock.js';
import type { RequestFailure } from './request-failure.js';

export interface RetryOptions {
  /** Maximum attempts after the first one. Default 3. */
  maxRetries?: number;
  /** Maximum of the first delay, in ms. It doubles with each retry. Default 500. */
  baseDelayMs?: number;
  /** Maximum of every computed delay, in ms. Default 30 000. */
  maxDelayMs?: number;
  /** Maximum delay that a provider may request, in ms. A longer one ends the retries. Default 60 000. */
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
 * The delay before the next attempt, in ms; undefined if there is none. A delay that the provider requests is used as
 * it is. Otherwise the delay grows with the attempts and is random ("full jitter"), so that callers that failed
 * together do not retry together. `retries`: the number of retries so far.
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

/** The delay that `retry-after-ms`, or `retry-after` in seconds or as an HTTP date, requests. */
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
