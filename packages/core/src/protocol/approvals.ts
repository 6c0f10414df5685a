import { z } from 'zod';
import { CoveredPartSchema } from './covered-part.js';
import { PlannedCallSchema } from './items.js';
import type { KnownMembers } from './known-members.js';
import { ToolEffectSchema } from './operations.js';
import { ProvenanceSchema } from './provenance.js';
import { StoreIdSchema, TimeSchema } from './store-shapes.js';
import type { ToolEffect } from './tools.js';

/** A part that changed after a call was approved. `before` and `after` are its texts, or their SHA-256, truncated. */
const ApprovalChangeSchema = z.strictObject({ what: z.string(), before: z.string(), after: z.string() });
export type ApprovalChange = z.infer<typeof ApprovalChangeSchema>;

export const ApprovalRequestSchema = z.looseObject({
  approvalId: StoreIdSchema,
  callId: z.string(),
  scriptId: z.string().optional(),
  tool: z.string(),
  input: z.unknown(),
  /** The exact text of the arguments. The call runs with this text unless the decision replaces the arguments. */
  inputJson: z.string(),
  effect: ToolEffectSchema,
  /**
   * `line` and `snippet` are the number and the text of the script's line that makes the call. A call of a saved script
   * has no `line`, and its `snippet` starts with `NAME@VERSION, line 3: `.
   */
  line: z.number().optional(),
  snippet: z.string().optional(),
  /** The call's `approvalContext` argument, truncated and escaped as in `rendered`. */
  context: z.string().optional(),
  /**
   * For a call of a sub-agent: the chain of agents from the agent of the first run to the agent that makes the call.
   */
  agents: z.array(z.string()).readonly().optional(),
  /** Text that is safe to show: control, bidi and zero-width characters are escaped. */
  rendered: z.string(),
  /**
   * All that a decision covers: the text that is shown, the arguments, the definition of the tool, and every text to
   * which the arguments refer. A call whose parts have changed before it is executed is asked about again.
   */
  covers: z.array(CoveredPartSchema).readonly(),
  /** The SHA-256 of all parts in `covers`. */
  digest: z.string(),
  /** In a request that asks again: the parts that changed after the call was approved. */
  changed: z.array(ApprovalChangeSchema).readonly().optional(),
  /** Where the arguments came from. Present if the tool guards arguments, or the host has a policy about sources. */
  provenance: ProvenanceSchema.optional(),
  /** The calls that the script's text names. */
  plan: z.array(PlannedCallSchema).readonly(),
  /** True if the plan lists this call with these exact arguments, so that a decision for the plan covers this call. */
  planned: z.boolean(),
  /** The time of the request, in ms since 1970. */
  createdAt: TimeSchema,
  /** The time after which decisions are ignored, in ms since 1970. Undefined if the request does not expire. */
  expiresAt: TimeSchema.optional(),
});

/**
 * A request for the approval of a call: all that a user needs who decides about the call. Plain data that can be stored,
 * sent and shown. The event `approval_requested` contains the same members in snake_case.
 */
export type ApprovalRequest = KnownMembers<z.infer<typeof ApprovalRequestSchema>>;

/**
 * The answer to an approval request.
 *
 * @example
 *
 * ```ts
 * const decisions: Decisions = { [approvalId]: { decision: 'deny', note: 'Not on a Friday.' } };
 * await harness.resume(scriptId, decisions);
 * ```
 */
export type Decision =
  | 'approve'
  | 'deny'
  | {
      decision: 'approve' | 'deny';
      /** Replaces the script's arguments, after validation. */
      input?: unknown;
      note?: string | undefined;
      remember?: Remember | undefined;
      /**
       * If the script is resumed after this time, in ms since 1970, the decision is ignored. Default: the decision does
       * not expire.
       */
      expiresAt?: number | undefined;
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
 *
 * @example
 *
 * ```ts
 * const ask: ApprovalCallback = async ({ rendered, effect }) => {
 *   if (effect === 'read') return 'approve';
 *   console.log(rendered);
 *   return 'suspend';
 * };
 * ```
 */
export type ApprovalCallback = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

type ApprovalAnswer = Decision | 'suspend';

/**
 * The first matching rule decides. If no rule matches, the call is denied.
 *
 * @example
 *
 * ```ts
 * const rules: ApprovalRule[] = [
 *   { tool: 'deleteFile', input: { path: 'secrets/*' }, action: 'deny' },
 *   { effect: 'read', action: 'approve' },
 *   { action: 'ask' },
 * ];
 * ```
 */
export interface ApprovalRule {
  /** A tool name or a pattern with `*`. Default: every tool. */
  tool?: string | undefined;
  effect?: ToolEffect | undefined;
  /**
   * Argument values by dotted path; strings may contain `*`. All values must match. In a rule that denies or asks, a
   * pattern also matches any entry of a list at its path or at a parent of its path. In a rule that approves, the
   * pattern must match the value itself.
   */
  input?: Record<string, unknown> | undefined;
  /**
   * A pattern for the tool's `permissions`. In a rule that approves, it must match all permissions; in a rule that
   * denies or asks, one match is enough.
   */
  permission?: string | undefined;
  /**
   * `untrusted`: the rule matches only if untrusted text may have chosen an argument that the tool guards. Not for rules
   * that approve.
   */
  from?: 'untrusted' | undefined;
  action: 'approve' | 'deny' | 'ask';
}

/**
 * Who decides about calls that need approval. `'auto'`: every call runs. `'deny'`: no call runs. A function or `ask`:
 * asked for each call. `rules`: the first matching rule decides; calls for which it says `ask` go to `ask`, and
 * without `ask` they suspend the script.
 */
export type ApprovalPolicy =
  | 'auto'
  | 'deny'
  | ApprovalCallback
  | readonly ApprovalRule[]
  | { rules: readonly ApprovalRule[]; ask?: ApprovalCallback | undefined };
