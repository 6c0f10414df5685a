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

/** The remembered rules of the server's workspace. */
export interface RememberedRules {
  /** Oldest first. */
  list(): Promise<readonly RememberedRule[]>;
  /** The calls that a rule made of a call would allow, as a user reads it; undefined if there can be no such rule. */
  suggest(tool: Tool, call: ApprovedCall): string | undefined;
  /** Stores the rule that `suggest` describes. Runs that begin or resume afterwards obey it. */
  add(tool: Tool, call: ApprovedCall): Promise<void>;
  /** Runs that begin or resume afterwards ask again. Returns whether there was one. */
  delete(ruleId: string): Promise<boolean>;
}
