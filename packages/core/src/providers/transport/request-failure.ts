import type { Members } from '../wire-values.js';

/** A request without an answer, as `response_error` reports it. */
export interface RequestFailure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly status?: number;
  readonly requestId?: string;
  readonly retryAfterMs?: number;
  /** The provider's own object. */
  readonly native?: Members;
}
