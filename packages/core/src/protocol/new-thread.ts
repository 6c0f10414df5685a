import { z } from 'zod';
import { StoreIdSchema, TimeSchema } from './store-shapes.js';

/** A thread that is made together with its first run. */
export const NewThreadSchema = z.strictObject({
  /** Default: a new one. */
  threadId: StoreIdSchema.optional(),
  /** Default: empty. */
  title: z.string().optional(),
  workspace: z.string().optional(),
  agentId: z.string().optional(),
  /** Creation time of an imported thread. Default: now. */
  createdAt: TimeSchema.optional(),
});
export type NewThread = z.input<typeof NewThreadSchema>;
