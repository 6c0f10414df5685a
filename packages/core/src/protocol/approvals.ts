import type { PlannedCall } from './script.js';
import type { ToolEffect } from './tools.js';

/** A call that waits for a decision. Plain data that can be stored, sent and shown. */
export interface ApprovalRequest {
  approvalId: string;
  callId: string;
  scriptId: string | undefined;
  tool: string;
  input: unknown;
  /** The exact text that is executed, logged and hashed. */
  inputJson: string;
  effect: ToolEffect;
  /**
   * The line of the script that makes the call, and its text. For a call of a saved script: no line, and a text that
   * starts with `NAME@VERSION, line 3: `.
   */
  line?: number;
  snippet?: string;
  /** The script's own `approvalContext` argument. */
  context?: string;
  /** Text that is safe to show: control, bidi and zero-width characters are escaped. */
  rendered: string;
  plan: readonly PlannedCall[];
  /** The plan lists this call with these exact arguments, so a decision for the plan covers this call. */
  planned: boolean;
  /** For a call of a sub-agent: the chain of agents from the first run to the one that makes the call. */
  agents?: readonly string[];
  /** The time of the request, in ms since 1970. Undefined if an earlier release made the request. */
  createdAt?: number;
  /** The time after which decisions are ignored, in ms since 1970; undefined: no expiry. */
  expiresAt?: number;
}

export type Decision =
  | 'approve'
  | 'deny'
  | {
      decision: 'approve' | 'deny';
      /** Replaces the script's arguments, after validation. */
      input?: unknown;
      note?: string;
      remember?: Remember;
      /**
       * The time after which the decision is ignored if the script is resumed, in ms since 1970. Default: no expiry.
       */
      expiresAt?: number;
    };

/**
 * The further calls that a decision covers. `script`: every further call of this tool in this script. `plan`: every
 * further call that the script's static plan lists with its line and its exact arguments, so that calls with unknown
 * arguments still need a decision. `workspace`: the host stores a rule. The library only reports it, in
 * `approval_resolved`, and keeps asking until the host's rules allow the call.
 */
export type Remember = 'script' | 'plan' | 'workspace';

/**
 * Called for each call that needs a user. A throw counts as a denial; the message of a
 * `ToolCallError('ApprovalDeniedError', …)` is its reason. `suspend`: no decision now; the script is suspended once it
 * waits only for such calls.
 */
export type ApprovalCallback = (request: ApprovalRequest) => Answered | Promise<Answered>;

type Answered = Decision | 'suspend';

/** The first matching rule decides. If no rule matches, the call is denied. */
export interface ApprovalRule {
  /** A tool name or a pattern with `*`. Default: every tool. */
  tool?: string;
  effect?: ToolEffect;
  /**
   * Argument values by dotted path; strings may contain `*`. All must match. To deny or ask, a pattern also matches any
   * entry of a list at its path or on the way to it; to approve, it must match the value itself.
   */
  input?: Record<string, unknown>;
  /** A pattern for the tool's `permissions`. To approve, all permissions must match; to deny or ask, one suffices. */
  permission?: string;
  action: 'approve' | 'deny' | 'ask';
}

export type ApprovalPolicy =
  | 'auto'
  | 'deny'
  | ApprovalCallback
  | readonly ApprovalRule[]
  | { rules: readonly ApprovalRule[]; ask?: ApprovalCallback };
