import { z } from 'zod';
import { PlannedCallSchema } from './items.js';
import { PageQuerySchema, StoreIdSchema, TimeSchema } from './store-shapes.js';

/** `ApprovalRequest`, as it is kept. Members that a later version adds are kept. */
export const ApprovalRequestSchema = z.looseObject({
  approvalId: StoreIdSchema,
  callId: z.string(),
  scriptId: z.string().optional(),
  tool: z.string(),
  input: z.unknown(),
  /** The exact text that will run. */
  inputJson: z.string(),
  effect: z.enum(['read', 'write', 'external']),
  line: z.number().optional(),
  snippet: z.string().optional(),
  context: z.string().optional(),
  rendered: z.string(),
  plan: z.array(PlannedCallSchema).optional(),
  planned: z.boolean().optional(),
  createdAt: TimeSchema.optional(),
  expiresAt: TimeSchema.optional(),
});
export type StoredApprovalRequest = z.infer<typeof ApprovalRequestSchema>;

/** `Decision`, as it crosses a process. */
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

/** `cancelled`: its run was cancelled, has ended, or does not wait for it any more. */
export const ApprovalStateSchema = z.enum(['pending', 'approved', 'denied', 'expired', 'cancelled']);
export type ApprovalState = z.infer<typeof ApprovalStateSchema>;

/** A request for approval, and what became of it. */
export const ApprovalSchema = z.strictObject({
  approvalId: StoreIdSchema,
  runId: StoreIdSchema,
  threadId: StoreIdSchema,
  principal: z.string(),
  request: ApprovalRequestSchema,
  createdAt: TimeSchema,
  /** From then on it cannot be approved. Left out: it waits for as long as its run. */
  expiresAt: TimeSchema.optional(),
  state: ApprovalStateSchema,
  /** Where somebody approved or denied it. */
  decision: DecisionSchema.optional(),
  decidedBy: z.string().optional(),
  /** Of every state but `pending`. */
  decidedAt: TimeSchema.optional(),
});
export type Approval = z.infer<typeof ApprovalSchema>;

export const ApprovalQuerySchema = PageQuerySchema.extend({
  state: ApprovalStateSchema.optional(),
  principal: z.string().optional(),
  threadId: z.string().optional(),
  runId: z.string().optional(),
});
export type ApprovalQuery = z.input<typeof ApprovalQuerySchema>;

export interface ApprovalPage {
  readonly approvals: readonly Approval[];
  /** There are more: `after` of the next page. */
  readonly next?: string;
}

export interface DecidedApproval {
  /** The approval as it stands: the winner's decision, whoever that was. */
  readonly approval: Approval;
  /** This call decided it. */
  readonly isWinner: boolean;
  /** This call decided the last approval that its run waited for: the run is queued. */
  readonly isRunQueued: boolean;
}

/** The state that a decision leads to. */
export function stateAfter(decision: StoredDecision): 'approved' | 'denied' {
  return (typeof decision === 'string' ? decision : decision.decision) === 'approve' ? 'approved' : 'denied';
}
