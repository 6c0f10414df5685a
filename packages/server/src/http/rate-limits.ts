import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopback, type AccessLimits, type Caller } from '../access/index.js';
import { ProblemError } from './problems.js';

const WINDOW_MS = 60_000;

/**
 * Maximum number of addresses or principals that each limit counts at the same time. A new entry replaces the least
 * recently used entry.
 */
const MAX_COUNTED = 50_000;

/** Counts requests per minute. An IPv6 address counts as its /64 network, which usually belongs to one customer. */
export interface RateLimits {
  /** Counts a request before authentication. Throws a problem with status 429 if the address has sent too many. */
  countAddress(request: FastifyRequest): Promise<void>;
  /** Counts a request without a valid token. Returns the error to throw: 401, or 429 after too many such requests. */
  countFailure(request: FastifyRequest, detail: string): Promise<ProblemError>;
  /** Counts a request of a principal. Throws a problem with status 429 if the principal has sent too many. */
  countPrincipal(request: FastifyRequest, caller: Caller): Promise<void>;
}

export async function openRateLimits(app: FastifyInstance, limits: AccessLimits): Promise<RateLimits> {
  await app.register(rateLimit, { global: false, timeWindow: WINDOW_MS, cache: MAX_COUNTED });
  const principals = new WeakMap<FastifyRequest, string>();
  const ofAddress = app.createRateLimit({ max: limits.requestsPerAddress });
  const ofFailures = app.createRateLimit({ max: limits.failuresPerAddress });
  const ofPrincipal = app.createRateLimit({
    max: limits.requestsPerPrincipal,
    keyGenerator: (request) => principals.get(request)!,
  });
  return {
    async countAddress(request) {
      // Requests from this machine are not counted, because all clients of a proxy on this machine share an address.
      if (isLoopback(request.ip)) return;
      const waitS = secondsToWait(await ofAddress(request));
      // defence: requests-of-an-address
      if (waitS !== undefined)
        throw tooMany(`Your address sends more than ${limits.requestsPerAddress} requests a minute.`, waitS);
    },
    async countFailure(request, detail) {
      const waitS = secondsToWait(await ofFailures(request));
      // defence: failures-of-an-address
      if (waitS !== undefined)
        return tooMany('Your address has sent too many requests without a valid token. Correct the token.', waitS);
      return new ProblemError(401, detail, {}, { 'www-authenticate': 'Bearer' });
    },
    async countPrincipal(request, { principal }) {
      principals.set(request, principal);
      const waitS = secondsToWait(await ofPrincipal(request));
      // defence: requests-of-a-principal
      if (waitS !== undefined)
        throw tooMany(`You send more than ${limits.requestsPerPrincipal} requests a minute.`, waitS);
    },
  };
}

type RequestCount = Awaited<ReturnType<ReturnType<FastifyInstance['createRateLimit']>>>;

/** The seconds to wait; undefined if the count is within the limit. */
function secondsToWait(counted: RequestCount): number | undefined {
  return !counted.isAllowed && counted.isExceeded ? Math.max(1, counted.ttlInSeconds) : undefined;
}

/** A problem with status 429. `waitS`: the seconds for `Retry-After`. */
export function tooMany(problem: string, waitS: number): ProblemError {
  const seconds = waitS === 1 ? '1 second' : `${waitS} seconds`;
  return new ProblemError(429, `${problem} Try again in ${seconds}.`, {}, { 'retry-after': String(waitS) });
}
