import { z } from 'zod';
import { StoreIdSchema } from './store-shapes.js';

/**
 * The turn at which a branch leaves another thread. The branch begins with copies of the turns before this turn, and
 * with the other thread's instructions.
 */
export const BranchPointSchema = z.strictObject({
  threadId: StoreIdSchema,
  turnId: StoreIdSchema,
  /** Whether the branch also begins with a copy of the turn itself. Default: false. */
  withTurn: z.boolean().optional(),
});
export type BranchPoint = z.infer<typeof BranchPointSchema>;

/** A thread that is created together with its first run. */
export const NewThreadSchema = z.strictObject({
  /** The id of the thread. Default: a new id. */
  threadId: StoreIdSchema.optional(),
  /**
   * `title`, `workspace` and `agentId` default to the values of the thread at `branchOf`; without `branchOf`, they are
   * empty.
   */
  title: z.string().optional(),
  workspace: z.string().optional(),
  agentId: z.string().optional(),
  /** The point at which this thread branches from a thread of the same owner. Default: the thread begins empty. */
  branchOf: BranchPointSchema.optional(),
});
export type NewThread = z.input<typeof NewThreadSchema>;
