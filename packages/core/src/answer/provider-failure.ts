import type { EventPayload } from '../protocol/index.js';

/** An answer's failure, with the details of its request: status, id, attempts. */
export interface ProviderFailure {
  readonly code: string;
  readonly message: string;
  readonly [member: string]: unknown;
}

const KEPT = ['status', 'request_id', 'retryable', 'attempts', 'retry_after_ms'];

/** Omits the provider's own object, which may be long. */
export function providerFailure(error: Extract<EventPayload, { type: 'response_error' }>): ProviderFailure {
  const kept = Object.entries(error).filter(([name]) => KEPT.includes(name));
  return { ...Object.fromEntries(kept), code: error.code, message: error.message };
}
