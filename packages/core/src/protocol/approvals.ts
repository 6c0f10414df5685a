import type { PlannedCall } from './script.js';
import type { ToolEffect } from './tools.js';

/** A call that waits for a decision. Plain data that can be stored, sent and shown. */
export interface ApprovalRequest {
  approvalId: string;
  callId: string;
  scriptId: string | undefined;
  tool: string;
  input: unknown;
  /** The exact text of the arguments. The call runs with this text unless the decision replaces the arguments. */
  inputJson: string;
  effect: ToolEffect;
  /**
   * `line` and `snippet` are the number and the text of the script's line that makes the call. A call of a saved script
   * has no `line`, and its `snippet` starts with `NAME@VERSION, line 3: `.
   */
  line?: number;
  snippet?: string;
  /** The call's `approvalContext` argument, truncated and escaped as in `rendered`. */
  context?: string;
  /** Text that is safe to show: control, bidi and zero-width characters are escaped. */
  rendered: string;
  plan: readonly PlannedCall[];
  /** True if the plan lists this call with these exact arguments, so that a decision for the plan covers this call. */
  planned: boolean;
  /**
   * For a call of a sub-agent: the chain of agents from the agent of the first run to the agent that makes the call.
   */
  agents?: readonly string[];
  /** The time of the request, in ms since 1970. Undefined if an earlier release made the request. */
  createdAt?: number;
  /** The time after which decisions are ignored, in ms since 1970. Undefined if the request does not expire. */
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
       * If the script is resumed after this time, in ms since 1970, the decision is ignored. Default: the decision does
       * not expire.
       */
      expiresAt?: number;
    };

/**
 * The further calls that a decision covers. `script`: every further call of this tool in this script. `plan`: every
 * further call that the script's static plan lists with its line and its exact arguments; calls with unknown arguments
 * still need a decision. `workspace`: the host stores a rule. The library reports this value in `approval_resolved`,
 * and keeps asking until the host's rules decide the call.
 */
export type Remember = 'script' | 'plan' | 'workspace';

/**
 * Called for each call that needs a user's decision. If the callback throws, the call is denied; the message of a
 * `ToolCallError('ApprovalDeniedError', …)` becomes the reason of the denial. `suspend`: the user decides later, and
 * the script is suspended as soon as it waits only for calls that the user decides later.
 */
export type ApprovalCallback = (request: ApprovalRequest) => Answered | Promise<Answered>;

type Answered = Decision | 'suspend';

/** The first matching rule decides. If no rule matches, the call is denied. */
export interface ApprovalRule {
  /** A tool name or a pattern with `*`. Default: every tool. */
  tool?: string;
  effect?: ToolEffect;
  /**
   * Argument values by dotted path; strings may contain `*`. All values must match. In a rule that denies or asks, a
   * pattern also matches any entry of a list at its path or at a parent of its path. In a rule that approves, the
   * pattern must match the value itself.
   */
  input?: Record<string, unknown>;
  /**
   * A pattern for the tool's `permissions`. In a rule that approves, it must match all permissions; in a rule that
   * denies or asks, one match is enough.
   */
  permission?: string;
  action: 'approve' | 'deny' | 'ask';
}

export type ApprovalPolicy =
  | 'auto'
  | 'deny'
  | ApprovalCallback
  | readonly ApprovalRule[]
  | { rules: readonly ApprovalRule[]; ask?: ApprovalCallback };
