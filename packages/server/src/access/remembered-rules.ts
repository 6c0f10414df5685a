import type { ApprovalRequest, Tool } from '@toolscript/core/protocol';

/** The call for which an approval was requested. */
type ApprovedCall = Pick<ApprovalRequest, 'tool' | 'inputJson'>;

/** A rule that allows calls without an approval. A user created it when deciding about an earlier call. */
export interface RememberedRule {
  readonly ruleId: string;
  /** The calls that the rule allows, in the words that the user read. */
  readonly covers: string;
  /** The time when a user created the rule, in ms since 1970. */
  readonly rememberedAt: number;
}

/** A rule that is not stored yet. */
export interface SuggestedRule {
  /** The calls that the rule would allow, in words for a user. */
  readonly covers: string;
  /** Stores the rule. Runs that begin or resume afterwards apply it. */
  add(): Promise<void>;
}

/** The remembered rules of the server's workspace. */
export interface RememberedRules {
  /** Oldest first. */
  list(): Promise<readonly RememberedRule[]>;
  /** The rule that would allow the call; undefined if no rule can express it. */
  suggest(tool: Tool, call: ApprovedCall): SuggestedRule | undefined;
  /** Deletes a rule. Runs that begin or resume afterwards ask the user again. Returns whether the rule existed. */
  delete(ruleId: string): Promise<boolean>;
}
