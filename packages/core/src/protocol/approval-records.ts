import { z } from 'zod';
import { ApprovalRequestSchema } from './approvals.js';
import { PageQuerySchema, StoreIdSchema, TimeSchema } from './store-shapes.js';

/** The serialized form of `Decision`. */
export const DecisionSchema = z.union([
  z.enum(['approve', 'deny']),
  z.strictObject({
    decision: z.enum(['approve', 'deny']),
    input: z.unknown().optional(),
    note: z.string().optional(),
    remember: z.enum(['script', 'plan', 'workspace']).optional(),
    expiresAt: TimeSchema.optional(),
  }),
]);
export type StoredDecision = z.infer<typeof DecisionSchema>;

/** `cancelled`: the run of the approval was cancelled, has ended, or no longer waits for the approval. */
export const APPROVAL_STATES = ['pending', 'approved', 'denied', 'expired', 'cancelled'] as const;
export const ApprovalStateSchema = z.enum(APPROVAL_STATES);
export type ApprovalState = z.infer<typeof ApprovalStateSchema>;

/** A request for approval and its state. */
export const ApprovalSchema = z.strictObject({
  approvalId: StoreIdSchema,
  runId: StoreIdSchema,
  threadId: StoreIdSchema,
  principal: z.string(),
  request: ApprovalRequestSchema,
  createdAt: TimeSchema,
  /** After this time the call cannot be approved. Default: the request stays valid until its run ends. */
  expiresAt: TimeSchema.optional(),
  state: ApprovalStateSchema,
  /** Present in the states `approved` and `denied`. */
  decision: DecisionSchema.optional(),
  decidedBy: z.string().optional(),
  /** Present in every state except `pending`. */
  decidedAt: TimeSchema.optional(),
});
export type Approval = z.infer<typeof ApprovalSchema>;

/** The conditions of a list. An approval must meet all of them. */
export const ApprovalQuerySchema = PageQuerySchema.extend({
  state: ApprovalStateSchema.optional(),
  principal: z.string().optional(),
  threadId: z.string().optional(),
  runId: z.string().optional(),
});
/** The conditions of a list. An approval must meet all of them. */
export type ApprovalQuery = z.input<typeof ApprovalQuerySchema>;

/** A page of approvals. */
export interface ApprovalPage {
  readonly approvals: readonly Approval[];
  /** The `after` of the next page; present if there are more entries. */
  readonly next?: string | undefined;
}

/** The result of a decision about an approval. */
export interface DecidedApproval {
  /** The approval as it is stored now, with the decision that was made first. */
  readonly approval: Approval;
  /** Whether this call of `decide` decided the approval. */
  readonly isWinner: boolean;
  /** Whether this call of `decide` settled the last approval that the run waited for, so that the run is queued. */
  readonly isRunQueued: boolean;
}
