import { ToolscriptUsageError } from '@toolscript/core/protocol';

/** The share of the server that one caller may use. */
export interface AccessLimits {
  /** Requests of one address in a minute, for all its callers together. Requests of this machine are not counted. */
  readonly requestsPerAddress: number;
  /** Requests with a wrong token from one address in a minute. */
  readonly failuresPerAddress: number;
  /** Requests of one principal in a minute. The machine's own user, with the local token, is not counted. */
  readonly requestsPerPrincipal: number;
  /** Event streams that one principal has open at the same time. */
  readonly streamsPerPrincipal: number;
  /** Time for the headers of a request to arrive, in ms. */
  readonly headersTimeoutMs: number;
  /** Time for a whole request to arrive, in ms. */
  readonly requestTimeoutMs: number;
  /** A client that reads nothing of an answer for this long is disconnected, in ms. */
  readonly stallTimeoutMs: number;
}

const DEFAULT_ACCESS_LIMITS: AccessLimits = {
  requestsPerAddress: 3_000,
  failuresPerAddress: 300,
  requestsPerPrincipal: 3_000,
  streamsPerPrincipal: 1_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  stallTimeoutMs: 30_000,
};

/** Throws a `ToolscriptUsageError` for a limit that is unknown or not a whole number of at least 1. */
export function accessLimits(changes: Partial<AccessLimits> = {}): AccessLimits {
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(DEFAULT_ACCESS_LIMITS, name))
      throw new ToolscriptUsageError(`createServer: there is no limit ${JSON.stringify(name)}`);
    if (!Number.isSafeInteger(value) || value < 1)
      throw new ToolscriptUsageError(`createServer: limits.${name} must be a whole number of at least 1`);
  }
  return { ...DEFAULT_ACCESS_LIMITS, ...changes };
}
