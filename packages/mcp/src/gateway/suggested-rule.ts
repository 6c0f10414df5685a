/** A rule that would allow a call, and later calls like it. */
export interface SuggestedRule {
  /** The calls that the rule allows, in one line for a user. */
  readonly covers: string;
  /** Stores and applies the rule. */
  add(): Promise<void>;
}

/** The rules that the questions about calls offer, by approval id. */
export type OfferedRules = ReadonlyMap<string, SuggestedRule>;
