import { z } from 'zod';
import { StoreIdSchema, TimeSchema } from './store-shapes.js';

/**
 * The place where a branch leaves another thread: the branch begins with copies of the turns before this one, and with
 * the thread's instructions.
 */
export const BranchPointSchema = z.strictObject({ threadId: StoreIdSchema, turnId: StoreIdSchema });
export type BranchPoint = z.infer<typeof BranchPointSchema>;

/** A thread that is created together with its first run. */
export const NewThreadSchema = z.strictObject({
  /** The id of the thread. Default: a new id. */
  threadId: StoreIdSchema.optional(),
  /** Default of these members: empty, or the value of the thread at `branchOf`. */
  title: z.string().optional(),
  workspace: z.string().optional(),
  agentId: z.string().optional(),
  /** Default: the thread begins empty. The other thread must have the same owner. */
  branchOf: BranchPointSchema.optional(),
  /** Creation time of an imported thread. Default: now. */
  createdAt: TimeSchema.optional(),
});
export type NewThread = z.input<typeof NewThreadSchema>;
