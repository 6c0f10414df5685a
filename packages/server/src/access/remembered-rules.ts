import type { ApprovalRequest, Tool } from '@toolscript/core/protocol';

/** The call that an approval is about. */
type ApprovedCall = Pick<ApprovalRequest, 'tool' | 'inputJson'>;

/** A rule that allows calls without asking, because a user chose so at an earlier call. */
export interface RememberedRule {
  readonly ruleId: string;
  /** The calls that it allows, as the user read it. */
  readonly covers: string;
  /** In ms since 1970. */
  readonly rememberedAt: number;
}

/** A rule that is not stored yet. */
export interface SuggestedRule {
  /** The calls that it would allow, as a user reads it. */
  readonly covers: string;
  /** Stores it. Runs that begin or resume afterwards obey it. */
  add(): Promise<void>;
}

/** The remembered rules of the server's workspace. */
export interface RememberedRules {
  /** Oldest first. */
  list(): Promise<readonly RememberedRule[]>;
  /** The rule that can be made of a call; undefined if there can be none. */
  suggest(tool: Tool, call: ApprovedCall): SuggestedRule | undefined;
  /** Runs that begin or resume afterwards ask again. Returns whether there was one. */
  delete(ruleId: string): Promise<boolean>;
}
