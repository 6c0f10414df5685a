import { ToolscriptUsageError } from '@toolscript/core/protocol';

/** Limits on the use of the server by one caller or from one address. */
export interface AccessLimits {
  /**
   * Maximum number of requests per minute from one address, for all its callers together. Requests from this machine
   * are not counted.
   */
  readonly requestsPerAddress: number;
  /** Maximum number of requests per minute without a valid token, from one address. */
  readonly failuresPerAddress: number;
  /**
   * Maximum number of requests per minute of one principal. Requests of the machine's own user, with the local token,
   * are not counted.
   */
  readonly requestsPerPrincipal: number;
  /**
   * Maximum number of event streams that one principal may have open at the same time. A request that waits for the end
   * of a response counts as a stream.
   */
  readonly streamsPerPrincipal: number;
  /** Maximum number of queued runs of one principal, at most 500. The machine's own user is not limited. */
  readonly queuedRunsPerPrincipal: number;
  /**
   * Maximum number of runs of one principal that all processes with this limit execute at the same time. Further runs
   * wait.
   */
  readonly runsPerPrincipal: number;
  /** Maximum time for the headers of a request to arrive, in ms. */
  readonly headersTimeoutMs: number;
  /** Maximum time for a whole request to arrive, in ms. */
  readonly requestTimeoutMs: number;
  /** Time after which the server disconnects a client that does not read a response, in ms. */
  readonly stallTimeoutMs: number;
}

/** The server counts queued runs with one page of a list, so the limit is the maximum size of a page. */
const MAX_QUEUED = 500;

const DEFAULT_ACCESS_LIMITS: AccessLimits = {
  requestsPerAddress: 3_000,
  failuresPerAddress: 300,
  requestsPerPrincipal: 3_000,
  streamsPerPrincipal: 1_000,
  queuedRunsPerPrincipal: MAX_QUEUED,
  runsPerPrincipal: Number.MAX_SAFE_INTEGER,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  stallTimeoutMs: 30_000,
};

/**
 * The limits with their defaults. Throws a `ToolscriptUsageError` for a limit that is unknown or not a whole number of
 * at least 1.
 */
export function accessLimits(changes: Partial<AccessLimits> = {}): AccessLimits {
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(DEFAULT_ACCESS_LIMITS, name))
      throw new ToolscriptUsageError(
        `createServer: there is no limit ${JSON.stringify(name)}. The limits are ${Object.keys(DEFAULT_ACCESS_LIMITS).join(', ')}`,
      );
    if (!Number.isSafeInteger(value) || value < 1)
      throw new ToolscriptUsageError(
        `createServer: limits.${name} is ${String(value)}. Use a whole number of at least 1.`,
      );
  }
  if ((changes.queuedRunsPerPrincipal ?? 0) > MAX_QUEUED)
    throw new ToolscriptUsageError(
      `createServer: limits.queuedRunsPerPrincipal is too large. Use at most ${MAX_QUEUED}.`,
    );
  return { ...DEFAULT_ACCESS_LIMITS, ...changes };
}
