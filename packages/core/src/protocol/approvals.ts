import type { PlannedCall } from './script.js';
import type { ToolEffect } from './tools.js';

/** A call that waits for a decision. Plain data: it can be stored, sent and shown. */
export interface ApprovalRequest {
  approvalId: string;
  callId: string;
  scriptId: string | undefined;
  tool: string;
  input: unknown;
  /** The exact text that will run, be logged and be hashed. */
  inputJson: string;
  effect: ToolEffect;
  /** The script's line that made the call, and its text. */
  line?: number;
  snippet?: string;
  /** The script's own `approvalContext` argument. */
  context?: string;
  /** Safe text for a person: control, bidi and zero-width characters are escaped. */
  rendered: string;
  plan: readonly PlannedCall[];
  /** The plan lists this call with these very arguments: a decision for the plan covers it. */
  planned: boolean;
  /** In ms since 1970. Undefined where an earlier release asked. */
  createdAt?: number;
  /** A decision that comes later counts for nothing. In ms since 1970; undefined: it may come at any time. */
  expiresAt?: number;
}

export type Decision =
  | 'approve'
  | 'deny'
  | {
      decision: 'approve' | 'deny';
      /** Runs instead of the script's arguments, after validation. */
      input?: unknown;
      note?: string;
      remember?: Remember;
      /** Where the script is resumed later, the decision counts for nothing. In ms since 1970; default: it stays. */
      expiresAt?: number;
    };

/**
 * What else a decision holds for. `script`: every further call of this tool in this script. `plan`: every further
 * call that the script's static plan lists with its line and its very arguments, so that calls whose arguments
 * nobody could see are still asked about.
 * `workspace`: the host keeps a rule. The library only tells it, in `approval_resolved`, and goes on asking until the
 * host's rules say more.
 */
export type Remember = 'script' | 'plan' | 'workspace';

/**
 * Asked for each call that needs a person. A throw counts as a denial; the message of a
 * `ToolCallError('ApprovalDeniedError', …)` is its reason. `suspend`: nobody decides now; the script is put
 * aside once such calls are all it waits for.
 */
export type ApprovalCallback = (request: ApprovalRequest) => Answered | Promise<Answered>;

type Answered = Decision | 'suspend';

/** The first rule that matches decides; where none does, the call is denied. */
export interface ApprovalRule {
  /** Tool name or a pattern with `*`. Left out: every tool. */
  tool?: string;
  effect?: ToolEffect;
  /**
   * Argument values at dotted paths; strings may hold `*`. All must match. To deny or ask, a pattern also matches any
   * entry of a list that stands at its path, or on the way to it; to approve it must match the value itself.
   */
  input?: Record<string, unknown>;
  /** A pattern on what the tool says it touches (`permissions`): all of them must match to approve, any one to deny or ask. */
  permission?: string;
  action: 'approve' | 'deny' | 'ask';
}

export type ApprovalPolicy =
  | 'auto'
  | 'deny'
  | ApprovalCallback
  | readonly ApprovalRule[]
  | { rules: readonly ApprovalRule[]; ask?: ApprovalCallback };
