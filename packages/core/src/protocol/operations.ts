import type { ErrorCode } from './errors.js';
import type { ToolEffect } from './tools.js';

/**
 * What is known about a call. `unknown`: it had started and nobody can say whether it took effect.
 * `not_started`: it was asked for and nothing of it ran, or will.
 * `detached`: it outlives its script; it waits for its turn, or runs.
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

/** One tool call of a script, or one structured call. In call order they let a model go on after a failure. */
export interface Operation {
  callId: string;
  tool: string;
  /** The effective input: validated, defaults applied. What the script sent, where it was not valid. */
  input: unknown;
  effect: ToolEffect;
  /** The id of the call whose end was unknown, and which this one makes again under its idempotency key. */
  retryOf?: string;
  status: OperationStatus;
  result?: unknown;
  /** The call completed, but its result was too large to carry. */
  resultOmitted?: boolean;
  error?: { code: ErrorCode; message: string };
  /** When the call was made, in ms after the script's start. */
  startedAtMs: number;
  durationMs: number;
  /** Where the script makes the call, in the model's own source; undefined for structured calls. */
  line?: number;
  column?: number;
}
