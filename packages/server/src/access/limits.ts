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
   * of a response or a script counts as a stream.
   */
  readonly streamsPerPrincipal: number;
  /** Maximum number of queued runs of one principal, at most 500. The machine's own user is not limited. */
  readonly queuedRunsPerPrincipal: number;
  /**
   * Maximum number of runs of one principal that all processes with this limit execute at the same time. Further runs
   * wait. Default: one less than `workers` of the process, but at least 1, so that a principal never holds all workers.
   * If several processes execute runs, set it to less than the sum of their workers.
   */
  readonly runsPerPrincipal: number;
  /**
   * Maximum size of a thread, in bytes of its messages, its events and the files that tools keep in it; a character of a
   * message or an event counts as one byte. Checked before each run. The machine's own user is not limited.
   */
  readonly bytesPerThread: number;
  /** Maximum size of all threads and kept files of one principal together; counted like `bytesPerThread`. */
  readonly bytesPerPrincipal: number;
  /**
   * Maximum number of large reads of one principal at the same time: whole threads, searches, and pages and exports of
   * the audit log. The machine's own user is not limited.
   */
  readonly largeReadsPerPrincipal: number;
  /** Maximum time for the headers of a request to arrive, in ms. */
  readonly headersTimeoutMs: number;
  /** Maximum time for a whole request to arrive, in ms. */
  readonly requestTimeoutMs: number;
  /** Time after which the server disconnects a client that does not read a response, in ms. */
  readonly stallTimeoutMs: number;
}

/** The server counts queued runs with one page of a list, so the limit is the maximum size of a page. */
const MAX_QUEUED = 500;

const DEFAULT_ACCESS_LIMITS: Omit<AccessLimits, 'runsPerPrincipal'> = {
  requestsPerAddress: 3_000,
  failuresPerAddress: 300,
  requestsPerPrincipal: 3_000,
  streamsPerPrincipal: 1_000,
  queuedRunsPerPrincipal: MAX_QUEUED,
  bytesPerThread: 64 * 1024 * 1024,
  bytesPerPrincipal: 1024 * 1024 * 1024,
  largeReadsPerPrincipal: 4,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  stallTimeoutMs: 30_000,
};

/**
 * The limits with their defaults, which depend on the number of workers. Throws a `ToolscriptUsageError` for a limit
 * that is unknown or not a whole number of at least 1.
 */
export function accessLimits(changes: Partial<AccessLimits> = {}, workers: number = 0): AccessLimits {
  // defence: workers-for-other-principals
  const defaults: AccessLimits = { ...DEFAULT_ACCESS_LIMITS, runsPerPrincipal: Math.max(1, workers - 1) };
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(defaults, name))
      throw new ToolscriptUsageError('UNKNOWN_SERVER_LIMIT', {
        name: JSON.stringify(name),
        known: Object.keys(defaults).join(', '),
      });
    if (!Number.isSafeInteger(value) || value < 1)
      throw new ToolscriptUsageError('SERVER_OPTION_NOT_IN_RANGE', {
        option: `limits.${name}`,
        value: String(value),
        range: 'of at least 1',
      });
  }
  if ((changes.queuedRunsPerPrincipal ?? 0) > MAX_QUEUED)
    throw new ToolscriptUsageError('SERVER_QUEUE_LIMIT_TOO_LARGE', { most: MAX_QUEUED });
  return { ...defaults, ...changes };
}
