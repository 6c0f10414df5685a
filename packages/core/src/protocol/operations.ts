import { z } from 'zod';
import { ERROR_TABLE, type ErrorCode } from './errors.js';
import type { KnownMembers } from './known-members.js';

export const ErrorCodeSchema = z.enum(Object.keys(ERROR_TABLE) as [ErrorCode, ...ErrorCode[]]);
export const ToolEffectSchema = z.enum(['read', 'write', 'external']);

export const OperationSchema = z.looseObject({
  callId: z.string(),
  tool: z.string(),
  /** The effective input: validated, with defaults. It is the input that the script sent if validation failed. */
  input: z.unknown(),
  effect: ToolEffectSchema,
  /**
   * The state of a call. `unknown`: it started, and nobody knows whether it took effect. `not_started`: it was
   * requested, and nothing of it ran or will run. `detached`: it outlives its script; it is queued or running.
   */
  status: z.enum([
    'completed',
    'failed',
    'denied',
    'aborted',
    'unknown',
    'not_started',
    'awaiting_approval',
    'detached',
  ]),
  result: z.unknown().optional(),
  /** True if the call completed, but its result was too large to include. */
  resultOmitted: z.boolean().optional(),
  error: z.object({ code: ErrorCodeSchema, message: z.string() }).optional(),
  /** The time of the call, in ms after the script's start. */
  startedAtMs: z.number(),
  durationMs: z.number(),
  /** The line of the call in the model's own source; undefined for structured calls and calls of saved scripts. */
  line: z.number().optional(),
  column: z.number().optional(),
  /** The id of the call with an unknown outcome that this call retries under the same idempotency key. */
  retryOf: z.string().optional(),
  /** True: the result contains text of unknown authors. */
  untrusted: z.boolean().optional(),
});

/**
 * One tool call of a script, or one structured call, after it was requested. The operations, listed in call order, let a
 * model continue after a failure. Items and events contain the same members in snake_case.
 */
export type Operation = KnownMembers<z.infer<typeof OperationSchema>>;

export type OperationStatus = Operation['status'];
