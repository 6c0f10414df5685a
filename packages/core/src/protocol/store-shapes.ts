import { z } from 'zod';

/** Ids of threads, turns, runs and approvals: 1 to 128 letters, digits, `_` and `-`. */
export const StoreIdSchema = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/u, '1 to 128 letters, digits, "_" and "-"');

/** The holder of a run. Its writes are accepted while `epoch` is the current epoch of the run. */
export const RunFenceSchema = z.strictObject({ runId: StoreIdSchema, epoch: z.number().int().min(0) });
export type RunFence = z.infer<typeof RunFenceSchema>;

/** A time in ms since 1970. */
export const TimeSchema = z.number().int();

/** Default number of entries on a page. */
export const DEFAULT_PAGE = 50;
/** Maximum number of entries on a page. */
export const MAX_PAGE = 500;

/** Restricts a query by id to what a principal owns. Without `principal`, the owner is not checked. */
export interface OwnerFilter {
  readonly principal?: string | undefined;
}

/** `after` is `next` of the previous page. */
export const PageQuerySchema = z.strictObject({
  after: z.string().optional(),
  limit: z.number().int().min(1).max(MAX_PAGE).optional(),
});
