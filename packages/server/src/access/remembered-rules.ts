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
  /** Runs that begin or resume afterwards ask again. Returns whether there was one. */
  delete(ruleId: string): Promise<boolean>;
}
