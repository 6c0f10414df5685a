import type { ErrorCode } from './errors.js';
import type { ToolEffect } from './tools.js';

/**
 * The state of a call. `unknown`: it started, and nobody knows whether it took effect. `not_started`: it was requested,
 * and nothing of it ran or will run. `detached`: it outlives its script; it is queued or running.
 */
export type OperationStatus =
  | 'completed'
  | 'failed'
  | 'denied'
  | 'aborted'
  | 'unknown'
  | 'not_started'
  | 'awaiting_approval'
  | 'detached';

/**
 * One tool call of a script, or one structured call. The operations, listed in call order, let a model continue after a
 * failure.
 */
export interface Operation {
  callId: string;
  tool: string;
  /** The effective input: validated, with defaults. It is the input that the script sent if validation failed. */
  input: unknown;
  effect: ToolEffect;
  /** The id of the call with an unknown outcome that this call retries under the same idempotency key. */
  retryOf?: string;
  status: OperationStatus;
  result?: unknown;
  /** True if the call completed, but its result was too large to include. */
  resultOmitted?: boolean;
  error?: { code: ErrorCode; message: string };
  /** The time of the call, in ms after the script's start. */
  startedAtMs: number;
  durationMs: number;
  /** The line of the call in the model's own source; undefined for structured calls and calls of saved scripts. */
  line?: number;
  column?: number;
}
